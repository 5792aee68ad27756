"""Everybody, as an import takes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

from sqlalchemy import CursorResult, func, select

from idsync.accounts.passwords import AccountPasswords
from idsync.accounts.record import AccountModels
from idsync.accounts.rules import email_key
from idsync.accounts.transfer.files import Writer
from idsync.accounts.transfer.person import Person, read_person
from idsync.audit.events import Actor, Audit
from idsync.crypto.exchange import is_exchange_hash
from idsync.database import DatabaseSession
from idsync.errors import InvalidValue

CHUNK = 1000
"""Accounts read at a time."""


class Exported(NamedTuple):
    """What became of an account.

    whole: False where its password is no exchange hash and stayed behind. problem: why it was left
    out; None where it was not.
    """

    subject: str
    whole: bool
    problem: InvalidValue | None


class Exports:
    """Reads the accounts of the directory into files."""

    def __init__(
        self,
        session: DatabaseSession,
        models: AccountModels,
        passwords: AccountPasswords,
        audit: Audit,
    ) -> None:
        self._session = session
        self._models = models
        self._passwords = passwords
        self._audit = audit

    def count(self) -> int:
        """How many accounts there are."""
        statement = select(func.count()).select_from(self._models.table)
        return int(self._session.connection().execute(statement).scalar_one())

    def write(self, writer: Writer, *, with_passwords: bool, actor: Actor) -> Iterator[Exported]:
        """Write every account, as they were at one moment, and note that it was done.

        Gives what became of each. Whom an import would refuse, because the site's own code stored a
        name or an address that idsync would not have, is left out: one such line, and nobody of the
        file could be imported.
        """
        # Before anything leaves, and committed: SQLite would let nobody else write meanwhile.
        self._audit.record("accounts exported", actor, with_passwords=with_passwords)
        self._session.commit()
        with self._read() as rows:
            for row in rows:
                opened = self._passwords.open(row.subject, row.password) if with_passwords else None
                exchanged = opened is not None and is_exchange_hash(opened)
                values = _person(row, opened if exchanged else None).values()
                problem = _problem(row, values)
                if problem is None:
                    writer.write(values)
                whole = not with_passwords or exchanged or not (opened or row.legacy_password)
                yield Exported(row.subject, whole, problem)

    def _read(self) -> closing[CursorResult[Any]]:
        table = self._models.table
        statement = (
            select(
                table,
                self._models.user_name.label("its_name"),
                self._models.user_email.label("its_email"),
            )
            .join_from(
                table, self._models.user_key.table, table.c.account_key == self._models.user_key
            )
            .order_by(table.c.account_key)
        )
        connection = self._session.connection()
        return closing(connection.execute(statement, execution_options={"yield_per": CHUNK}))


def _person(row: Any, password: str | None) -> Person:
    return Person(
        id=row.subject,
        name=row.its_name or "",
        email=row.its_email or None,
        email_verified=row.email_verified,
        phone=row.phone,
        tags=tuple(row.tags),
        disabled=row.disabled_by is not None,
        password=password,
    )


def _problem(row: Any, values: dict[str, Any]) -> InvalidValue | None:
    """Why an import would refuse a person."""
    try:
        read_person(values, lambda password: password)
    except InvalidValue as error:
        return error
    if row.its_email and row.email_key != email_key(row.its_email):
        return InvalidValue("email", "is that of another account")
    return None
