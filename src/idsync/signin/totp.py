"""Codes of an authenticator app (TOTP, RFC 6238): one secret per account, each code once."""

from __future__ import annotations

import hmac
import time
from typing import Any

import pyotp
from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    LargeBinary,
    MetaData,
    String,
    Table,
    delete,
    insert,
    select,
    update,
)

from idsync.accounts.record import AccountModels, AccountRecord
from idsync.crypto.sealing import Sealer
from idsync.database import DatabaseSession

PURPOSE = "totp secret"

STEP = 30
"""Seconds that a code is shown (RFC 6238 §5.2)."""

DRIFT = 1
"""Steps before and after, for a phone's clock and slow typing (RFC 6238 §5.2 advises one)."""

DIGITS = 6


def define_totp_table(metadata: MetaData, models: AccountModels) -> Table:
    """`idsync_totp`: one row per account. `subject` is what the secret is sealed for.

    confirmed_at: unix seconds; NULL until the person has entered a first code. last_step: the
    newest time step whose code was used; no code of it or before it works again.
    """
    key = models.table.c.account_key
    return Table(
        "idsync_totp",
        metadata,
        Column("account_key", key.type, ForeignKey(key, ondelete="CASCADE"), primary_key=True),
        Column("subject", String(64), nullable=False, unique=True),
        Column("secret", LargeBinary, nullable=False),
        Column("confirmed_at", BigInteger),
        Column("last_step", BigInteger, nullable=False),
    )


class Totp:
    """The authenticator apps of accounts. Never commits."""

    def __init__(self, session: DatabaseSession, table: Table, sealer: Sealer) -> None:
        self._session = session
        self.table = table
        self._sealer = sealer

    def is_on(self, account_key: Any) -> bool:
        """Whether an app was confirmed."""
        row = self._row(account_key)
        return row is not None and row.confirmed_at is not None

    def begin(self, record: AccountRecord) -> None:
        """Make a new secret, to be confirmed by a first code; a confirmed one stays as it is."""
        table = self.table
        self._execute(
            delete(table).where(
                table.c.account_key == record.account_key, table.c.confirmed_at.is_(None)
            )
        )
        if self.is_on(record.account_key):
            return
        secret = pyotp.random_base32()
        values = {
            "account_key": record.account_key,
            "subject": record.subject,
            "secret": self._sealer.seal(secret.encode(), purpose=PURPOSE, subject=record.subject),
            "last_step": 0,
        }
        self._execute(insert(table).values(values))

    def unconfirmed(self, account_key: Any) -> str | None:
        """The secret that waits for its first code, in base32."""
        row = self._row(account_key)
        return None if row is None or row.confirmed_at is not None else self._opened(row)

    def confirm(self, account_key: Any, code: str) -> bool:
        """Whether the first code is right; then the app counts from now on."""
        return self._use(account_key, code, confirmed=False)

    def check(self, account_key: Any, code: str) -> bool:
        """Whether a code is right and was not used before; uses it up."""
        return self._use(account_key, code, confirmed=True)

    def remove(self, account_key: Any) -> None:
        """Forget the app."""
        self._execute(delete(self.table).where(self.table.c.account_key == account_key))

    def _use(self, account_key: Any, code: str, *, confirmed: bool) -> bool:
        row = self._row(account_key)
        if row is None or (row.confirmed_at is not None) != confirmed:
            return False
        step = _step_of(self._opened(row), code)
        if step is None:
            return False
        table = self.table
        values: dict[str, int] = {"last_step": step}
        if not confirmed:
            values["confirmed_at"] = int(time.time())
        # The row decides: of two who present one code, the second finds a newer last_step.
        used = self._execute(
            update(table)
            .where(
                table.c.account_key == account_key,
                table.c.secret == row.secret,
                table.c.last_step < step,
            )
            .values(values)
        )
        return bool(used.rowcount)

    def _row(self, account_key: Any) -> Any:
        return self._execute(
            select(self.table).where(self.table.c.account_key == account_key)
        ).first()

    def _opened(self, row: Any) -> str:
        return self._sealer.unseal(row.secret, purpose=PURPOSE, subject=row.subject).decode()

    def _execute(self, statement: Any) -> Any:
        return self._session.connection().execute(statement)


def _step_of(secret: str, code: str) -> int | None:
    """The time step a code belongs to; None for a wrong one. All steps are compared, always."""
    totp = pyotp.TOTP(secret, digits=DIGITS, interval=STEP)
    now = int(time.time()) // STEP
    given = code.encode("utf-8", "surrogatepass")  # compare_digest takes no other text than ASCII
    found = None
    for step in range(now - DRIFT, now + DRIFT + 1):
        if hmac.compare_digest(totp.at(step * STEP).encode(), given):
            found = step
    return found
