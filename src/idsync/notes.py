"""What a transaction is to be followed by: noted until it commits, under the savepoint it was in.

A note shares the fate of its savepoint, and of those around that one: it goes with what is rolled
back, and with a session that is closed.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import event
from sqlalchemy.orm import Session, SessionTransaction

from idsync.database import DatabaseSession


class Notes:
    """Notes of one kind, kept in each session's `info` under this name."""

    def __init__(self, name: str) -> None:
        self._key = f"idsync_{name}"

    def follow(self, session: DatabaseSession) -> None:
        """Watch the transactions of every session this factory makes."""
        event.listen(session, "after_commit", self._hand_on)
        event.listen(session, "after_transaction_end", self._drop)

    def add(self, session: DatabaseSession, note: Any) -> None:
        """Note something in the transaction at hand, begun if there is none."""
        real: Session = session() if callable(session) else session
        if not real.in_transaction():
            real.begin()
        transaction = real.get_nested_transaction() or real.get_transaction()
        self._of(real).setdefault(transaction, []).append(note)

    def take(self, session: Session) -> list[Any]:
        """The notes of the transaction that is being committed, in order; they are kept no longer.

        To be called in `before_commit` or `after_commit`, outside of savepoints.
        """
        return self._of(session).pop(session.get_transaction(), [])

    def _hand_on(self, session: Session) -> None:
        savepoint = session.get_nested_transaction()
        notes = self._of(session).pop(savepoint, None)
        if savepoint is not None and notes:
            self._of(session).setdefault(_around(savepoint), []).extend(notes)

    def _drop(self, session: Session, transaction: SessionTransaction) -> None:
        self._of(session).pop(transaction, None)  # rolled back: what it noted never happened

    def _of(self, session: Session) -> dict[SessionTransaction | None, list[Any]]:
        notes: dict[SessionTransaction | None, list[Any]] = session.info.setdefault(self._key, {})
        return notes


def _around(transaction: SessionTransaction) -> SessionTransaction | None:
    """The savepoint or transaction around one, passing the steps of a flush by."""
    outer = transaction.parent
    while outer is not None and not outer.nested and outer.parent is not None:
        outer = outer.parent
    return outer
