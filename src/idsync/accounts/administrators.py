"""That somebody can always use the administration console.

The last administrator who is not disabled cannot be taken away by a person: neither by themselves
nor, at the same moment, by each other. A command may do it, because a command can make another.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from idsync.accounts.record import AccountModels, AccountRecord
from idsync.audit.events import Actor
from idsync.database import DatabaseSession, begin_write
from idsync.errors import AdministratorRequired, InvalidValue, RecentSignInRequired


class Administrators:
    """Those who may use the console."""

    def __init__(self, session: DatabaseSession, models: AccountModels) -> None:
        self._session = session
        self._models = models

    def lock_all(self, actor: Actor) -> frozenset[str]:
        """The subjects of all of them, locked until the transaction ends.

        To be called before any other account is locked: all who take an administrator away meet
        here, in one order. Empty where a command acts, which is not held up.
        """
        return frozenset(self._epochs() if actor.kind == "person" else ())

    def confirm(self, subject: str, epoch: bytes) -> None:
        """Refuse what somebody asked for who was let in as an administrator and is none by now.

        epoch: of their account when they were let in. All of them stay locked until the transaction
        ends, as by `lock_all`, so that nobody is demoted or signed out in between. Raises
        AdministratorRequired, or RecentSignInRequired.
        """
        epochs = self._epochs()
        if subject not in epochs:
            raise AdministratorRequired("This account may not use the console any more.")
        if epochs[subject] != epoch:
            raise RecentSignInRequired("This account was signed out meanwhile.")

    def _epochs(self) -> dict[str, bytes]:
        begin_write(self._session, self._models.table)
        user, record = self._models.user_class, self._models.record_class
        table: Any = self._models.table.c
        rows = self._session.connection().execute(
            select(table.subject, table.epoch)
            .join_from(user, record, record.account_key == self._models.user_key)
            .where(table.administrator, table.disabled_by.is_(None))
            .order_by(table.account_key)
            .with_for_update(key_share=True)
        )
        return {row.subject: row.epoch for row in rows}


def keep_one(field: str, record: AccountRecord, administrators: frozenset[str]) -> None:
    """Refuse to take the last of `administrators` away. Raises InvalidValue naming the field."""
    if administrators == {record.subject}:
        raise InvalidValue(
            field,
            "this is the only administrator; make somebody else one first",
        )
