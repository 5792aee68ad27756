"""Finding accounts: by the host's user, by e-mail address, by subject."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import exists, select
from sqlalchemy.exc import IntegrityError

from idsync.accounts.record import (
    Account,
    AccountModels,
    AccountRecord,
    account_columns,
    account_from,
    new_record,
)
from idsync.accounts.rules import email_key
from idsync.database import DatabaseSession, begin_write
from idsync.errors import UnknownRecord


class Lookup:
    """Finds accounts and makes missing companion rows."""

    def __init__(self, session: DatabaseSession, models: AccountModels) -> None:
        self._session = session
        self._models = models

    def record_of(self, user: Any) -> AccountRecord | None:
        """The companion row of one of the host's users, or None where it has none yet.

        A user just added gets both rows now.
        """
        if user in self._session.new:
            self._session.flush()
        return self._session.get(self._models.record_class, self._models.key_of(user))

    def ensure_record(self, user: Any) -> AccountRecord:
        """The companion row of one of the host's users, made where it is missing.

        Raises UnknownRecord for a user who was deleted meanwhile.
        """
        found = self.record_of(user)
        if found is not None:
            return found
        begin_write(self._session, self._models.table)
        self._hold(self._models.key_of(user))
        for attempt in range(2):
            record = new_record(self._models, user, legacy_password=True)
            if user.email and not self.is_taken(email=user.email):
                record.email_key = email_key(user.email)
            try:
                with self._session.begin_nested():
                    self._session.add(record)
                break
            except IntegrityError:
                # The same person signed in twice at once, or somebody took the address meanwhile.
                found = self.record_of(user)
                if found is not None:
                    return found
                if attempt:
                    raise
        return record

    def user_by_email(self, email: str) -> Any | None:
        """The host's user with this e-mail address, compared without case."""
        record = self._models.record_class
        if not email or "\0" in email:
            return None
        return self._session.scalars(
            select(self._models.user_class)
            .join(record, record.account_key == self._models.user_key)
            .where(self._models.table.c.email_key == email_key(email))
        ).first()

    def user_by_key(self, key: Any) -> Any | None:
        """The host's user with this primary key."""
        return self._session.get(self._models.user_class, key)

    def find(self, subject: str) -> Account | None:
        """The account with this subject."""
        statement = self._accounts().where(self._models.table.c.subject == subject)
        row = self._session.connection().execute(statement).mappings().first()
        return None if row is None else account_from(row)

    def find_by_email(self, email: str) -> Account | None:
        """The account with this e-mail address, compared without case."""
        if not email or "\0" in email:
            return None
        statement = self._accounts().where(self._models.table.c.email_key == email_key(email))
        row = self._session.connection().execute(statement).mappings().first()
        return None if row is None else account_from(row)

    def accounts(self) -> Iterable[Account]:
        """Every account, by name, read as a stream."""
        rows = self._session.connection().execute(
            self._accounts().order_by(self._models.user_name, self._models.table.c.subject),
            execution_options={"yield_per": 500},
        )
        return (account_from(row) for row in rows.mappings())

    def is_taken(self, *, email: str | None = None, phone: str | None = None) -> bool:
        """Whether an account has this e-mail address, or this phone number."""
        table = self._models.table.c
        same = table.phone == phone if email is None else table.email_key == email_key(email)
        return bool(self._session.connection().execute(select(exists().where(same))).scalar())

    def _hold(self, key: Any) -> None:
        """Keep a user from being deleted: without foreign keys an orphaned row would stay."""
        user_key = self._models.user_key
        held = select(user_key).where(user_key == key).with_for_update(read=True, key_share=True)
        if self._session.connection().execute(held).first() is None:
            raise UnknownRecord("This user is not in the database any more.")

    def _accounts(self) -> Any:
        return select(*account_columns(self._models)).join_from(
            self._models.table,
            self._models.user_key.table,
            self._models.table.c.account_key == self._models.user_key,
        )
