"""Browser sessions as rows. The cookie holds only a row's id; the row can be ended from here."""

from __future__ import annotations

import hashlib
import time
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    Table,
    Text,
    bindparam,
    exists,
    insert,
    or_,
    select,
    update,
)

from idsync.accounts.record import Account, AccountModels, account_columns, account_from
from idsync.crypto import identifiers
from idsync.database import DatabaseSession

SECOND_FACTOR = "mfa"
"""The `amr` value that says more than one factor was used (RFC 8176 §2)."""

RECENT = 600
"""Seconds for which a sign-in may change how the next one is made."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A person at a browser: the account, and how and when they proved who they are.

    auth_time: unix seconds. amr: methods by RFC 8176. id: the session row's, secret.
    """

    id: bytes
    account: Account
    auth_time: int
    amr: tuple[str, ...]

    @property
    def second_factor(self) -> bool:
        """Whether more than one factor was used."""
        return SECOND_FACTOR in self.amr

    @property
    def is_recent(self) -> bool:
        """Whether the person proved who they are within the last minutes."""
        return time.time() - self.auth_time <= RECENT

    @property
    def public_id(self) -> str:
        """A name for the session that may leave the service (`sid`), useless for stealing it."""
        return public_session_id(self.id)


def public_session_id(session_id: bytes) -> str:
    """What applications see of a session: 128 bits of its hash."""
    digest = hashlib.sha256(b"idsync session\0" + session_id).digest()[:16]
    return urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def define_session_table(metadata: MetaData, models: AccountModels) -> Table:
    """`idsync_session`: one row per browser session. Times are unix seconds.

    second_factor: whether `amr` says so; without it, the session of an account that has a second
    factor is none.
    """
    return Table(
        "idsync_session",
        metadata,
        Column("id", LargeBinary(16), primary_key=True),
        Column(
            "account_key",
            models.table.c.account_key.type,
            ForeignKey(models.table.c.account_key, ondelete="CASCADE"),
            nullable=False,
        ),
        Column("epoch", LargeBinary(8), nullable=False),
        Column("auth_time", BigInteger, nullable=False),
        Column("amr", Text, nullable=False),
        Column("second_factor", Boolean, nullable=False),
        Column("ended_at", BigInteger),
        Index("ix_idsync_session_account", "account_key"),
    )


class Sessions:
    """Session rows in the database. Never commits."""

    def __init__(
        self, session: DatabaseSession, table: Table, models: AccountModels, lifetime: int
    ) -> None:
        self._session = session
        self.table = table
        self._lifetime = lifetime
        account = models.table
        self._live = (
            select(table.c.id, table.c.auth_time, table.c.amr, *account_columns(models))
            .join(account, account.c.account_key == table.c.account_key)
            .join(models.user_key.table, models.user_key == account.c.account_key)
            .where(
                table.c.id == bindparam("id"),
                table.c.ended_at.is_(None),
                table.c.auth_time > bindparam("oldest"),
                table.c.epoch == account.c.epoch,
                account.c.disabled_by.is_(None),
                or_(table.c.second_factor, account.c.mfa.is_(False)),
            )
        )

    def begin(
        self, account_key: Any, epoch: bytes, amr: tuple[str, ...], auth_time: int | None = None
    ) -> bytes:
        """Write a row and return its id. auth_time: of the proof, where it was not just now."""
        session_id = identifiers.new_id()
        self._session.connection().execute(
            insert(self.table),
            {
                "id": session_id,
                "account_key": account_key,
                "epoch": epoch,
                "auth_time": int(time.time()) if auth_time is None else auth_time,
                "amr": " ".join(amr),
                "second_factor": SECOND_FACTOR in amr,
            },
        )
        return session_id

    def find(self, session_id: bytes) -> SignedIn | None:
        """The person a session belongs to, while it is valid."""
        row = (
            self._session.connection()
            .execute(self._live, {"id": session_id, "oldest": int(time.time()) - self._lifetime})
            .mappings()
            .first()
        )
        if row is None:
            return None
        return SignedIn(row["id"], account_from(row), row["auth_time"], tuple(row["amr"].split()))

    def is_live(self, session_id: bytes, mfa: Any) -> Any:
        """The condition, in a statement, that this session has neither ended nor grown too old.

        `mfa`: the account's column; with a second factor, the session must have used it.
        """
        table = self.table.c
        return exists().where(
            table.id == session_id,
            or_(table.second_factor, mfa.is_(False)),
            table.ended_at.is_(None),
            table.auth_time > int(time.time()) - self._lifetime,
        )

    def upgrade(self, session_id: bytes, amr: tuple[str, ...]) -> None:
        """Note that a session was proved by more; when it began stays as it is."""
        table = self.table
        self._session.connection().execute(
            update(table)
            .where(table.c.id == session_id)
            .values(amr=" ".join(amr), second_factor=SECOND_FACTOR in amr)
        )

    def end(self, session_id: bytes) -> None:
        """End a session; ending it again changes nothing."""
        table = self.table
        self._session.connection().execute(
            update(table)
            .where(table.c.id == session_id, table.c.ended_at.is_(None))
            .values(ended_at=int(time.time()))
        )
