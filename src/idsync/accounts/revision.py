"""One counter orders all changes of accounts, whoever makes them: a service, a command, the host.

`before_flush` notes which accounts change (`notes.py`); `before_commit` locks them, increments the
counter last and stamps them with its value. The lock order, account rows and then the counter, is
the same in every transaction: commit order is revision order, and nobody deadlocks on the counter.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    delete,
    event,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, UOWTransaction

from idsync.accounts.bulk_statements import refuse_bulk_statements
from idsync.accounts.names import fold_names, name_key
from idsync.accounts.record import AccountModels, AccountRecord, new_record, utc_now
from idsync.accounts.rules import email_key
from idsync.crypto import identifiers
from idsync.database import DatabaseSession, begin_write
from idsync.errors import InvalidValue
from idsync.notes import Notes

_changed_accounts = Notes("changed_accounts")
"""Pairs: "record" and a companion row, "key" and a host's key ("touched" where raw SQL changed it),
"erased" and a subject.
"""

EXPORTED = (
    "password",
    "legacy_password",
    "tags",
    "disabled_by",
    "mfa",
    "administrator",  # whose password is never shown
    "email_key",
)
"""Attributes of the companion row whose change consuming services must hear of."""


def define_directory_table(metadata: MetaData) -> Table:
    """`idsync_directory`: a single row, the counter and the incarnation it belongs to."""
    return Table(
        "idsync_directory",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("incarnation", LargeBinary(8), nullable=False),
        Column("revision", BigInteger, nullable=False),
    )


def define_erased_table(metadata: MetaData) -> Table:
    """`idsync_erased_account`: what is kept of an erased account, so that its id stays taken."""
    return Table(
        "idsync_erased_account",
        metadata,
        Column("subject", String(64), primary_key=True),
        Column("revision", BigInteger, nullable=False, index=True),
        Column("erased_at", DateTime, nullable=False),
    )


class Revisions:
    """Follows a session and stamps the accounts that change in it.

    `legacy_passwords`: people the host makes keep the host's own hash at first. `owned`: tables
    whose rows go with an account, by their column `account_key`.
    """

    def __init__(
        self,
        models: AccountModels,
        directory: Table,
        erased: Table,
        *,
        owned: tuple[Table, ...],
        legacy_passwords: bool,
    ) -> None:
        self._models = models
        self._directory = directory
        self._erased = erased
        self._owned = owned
        self._legacy_passwords = legacy_passwords

    def follow(self, session: DatabaseSession) -> None:
        """Listen to every session this factory makes."""
        event.listen(session, "before_flush", self._before_flush)
        event.listen(session, "before_commit", self._before_commit)
        _changed_accounts.follow(session)
        refuse_bulk_statements(session, self._models)

    def touch(self, session: DatabaseSession, keys: Iterable[Any]) -> None:
        """Note accounts, by the host's keys, that were changed by other means than the ORM."""
        for key in keys:
            _changed_accounts.add(session, ("touched", key))

    def current(self, session: DatabaseSession) -> tuple[bytes, int]:
        """Incarnation and revision of the directory."""
        row = session.connection().execute(select(self._directory)).first()
        return (b"", 0) if row is None else (row.incarnation, row.revision)

    def renew_incarnation(self, session: DatabaseSession) -> None:
        """Make every cursor given out so far foreign, as after restoring a backup."""
        self._increment(session)
        session.connection().execute(
            update(self._directory).values(incarnation=identifiers.new_epoch())
        )

    # --- noting --------------------------------------------------------------------------------

    def _before_flush(self, session: Session, context: UOWTransaction, instances: Any) -> None:
        user_class, record_class = self._models.user_class, self._models.record_class
        accompanied = {id(one.user) for one in session.new if isinstance(one, record_class)}
        for instance in list(session.new):
            if isinstance(instance, user_class) and id(instance) not in accompanied:
                self._accompany(session, instance)
        for instance in session.new:
            if isinstance(instance, record_class):
                instance.name_key = name_key(instance.user.name)
                _changed_accounts.add(session, ("record", instance))
        for instance in list(session.dirty):
            if isinstance(instance, user_class):
                self._note_user(session, instance)
            elif isinstance(instance, record_class) and _changed(instance, EXPORTED):
                _changed_accounts.add(session, ("record", instance))
        for instance in list(session.deleted):
            if isinstance(instance, user_class):
                self._erase(session, self._models.key_of(instance))

    def _erase(self, session: Session, key: Any) -> None:
        """Delete what belongs to a user who is being deleted.

        Not left to ON DELETE CASCADE: many SQLite sites run without foreign keys, and SQLite gives
        the key of a deleted row to the next new one.
        """
        begin_write(session, self._models.table)
        user_key = self._models.user_key
        there = (
            session.connection()
            .execute(select(user_key).where(user_key == key).with_for_update())
            .first()
        )
        record = session.get(self._models.record_class, key)
        if there is None or record is None:
            return  # somebody else was quicker
        for table in self._owned:
            session.connection().execute(delete(table).where(table.c.account_key == key))
        session.delete(record)
        _changed_accounts.add(session, ("erased", record.subject))

    def _accompany(self, session: Session, user: Any) -> None:
        """Give a person the host's own code made their companion row."""
        record = new_record(self._models, user, legacy_password=self._legacy_passwords)
        if user.email:
            record.email_key = self._free_email_key(session, user.email, None)
        session.add(record)

    def _note_user(self, session: Session, user: Any) -> None:
        if not _changed(user, (self._models.name_attribute, self._models.email_attribute)):
            return
        key = self._models.key_of(user)
        _changed_accounts.add(session, ("key", key))
        record = session.get(self._models.record_class, key)
        if record is not None:
            record.name_key = name_key(user.name)
        if record is not None and _changed(user, (self._models.email_attribute,)):
            record.email_key = (
                self._free_email_key(session, user.email, key) if user.email else None
            )
            record.email_verified = False

    def _free_email_key(self, session: Session, email: str, own_key: Any) -> str:
        key, table = email_key(email), self._models.table
        owner = (
            session.connection()
            .execute(select(table.c.account_key).where(table.c.email_key == key))
            .scalar()
        )
        if owner is not None and owner != own_key:
            raise InvalidValue("email", "taken by another account")
        return key

    # --- stamping ------------------------------------------------------------------------------

    def _before_commit(self, session: Session) -> None:
        if session.in_nested_transaction():
            return  # a savepoint: its notes go to the transaction around it
        session.flush()
        noted = set(_changed_accounts.take(session))
        erased = sorted(subject for kind, subject in noted if kind == "erased")
        keys = {
            value.account_key if kind == "record" else value
            for kind, value in noted
            if kind != "erased" and not (kind == "record" and _is_gone(value))
        }
        if keys or erased:
            self._stamp(session, sorted(keys, key=str), erased)
        touched = [value for kind, value in noted if kind == "touched"]
        if touched:
            fold_names(session.connection(), self._models, touched)

    def _stamp(self, session: Session, keys: list[Any], erased: list[str]) -> None:
        connection, table = session.connection(), self._models.table
        if keys:
            connection.execute(
                select(table.c.account_key)
                .where(table.c.account_key.in_(keys))
                .order_by(table.c.account_key)
                .with_for_update(key_share=True)
            )
        revision, now = self._increment(session), utc_now()
        if keys:
            connection.execute(
                update(table)
                .where(table.c.account_key.in_(keys))
                .values(revision=revision, updated_at=now)
            )
        if erased:
            rows = [{"subject": one, "revision": revision, "erased_at": now} for one in erased]
            connection.execute(insert(self._erased), rows)

    def _increment(self, session: DatabaseSession) -> int:
        """Count one transaction. The row stays locked until it ends."""
        table = self._directory
        statement = update(table).values(revision=table.c.revision + 1).returning(table.c.revision)
        revision = session.connection().execute(statement).scalar()
        if revision is None:
            first = {"id": 1, "incarnation": identifiers.new_epoch(), "revision": 0}
            try:
                with session.connection().begin_nested():
                    session.connection().execute(insert(table), first)
            except IntegrityError:
                pass  # another process was quicker
            revision = session.connection().execute(statement).scalar_one()
        return int(revision)


def _changed(instance: Any, attributes: Iterable[str]) -> bool:
    state = inspect(instance)
    return any(state.attrs[name].history.has_changes() for name in attributes)


def _is_gone(record: AccountRecord) -> bool:
    state: Any = inspect(record)
    return bool(state.deleted or state.was_deleted or state.transient)
