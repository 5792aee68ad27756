"""Recovery codes: ten codes on paper, each good once, for the day the phone is lost."""

from __future__ import annotations

import secrets
import time
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    delete,
    func,
    insert,
    select,
    update,
)

from idsync.accounts.record import AccountModels
from idsync.crypto.identifiers import new_id
from idsync.database import DatabaseSession

NUMBER = 10

LENGTH = 10
"""Characters. The first one is told apart in a set; nine secret ones are 45 bits, behind a limit
and a slow hash."""

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32: nothing that is mistaken for something else."""

_MISREAD = str.maketrans("ilo", "110")


def define_recovery_table(metadata: MetaData, models: AccountModels) -> Table:
    """`idsync_recovery_code`: one row per code. `slot` is the code's first character."""
    key = models.table.c.account_key
    return Table(
        "idsync_recovery_code",
        metadata,
        Column("id", LargeBinary(16), primary_key=True),
        Column("account_key", key.type, ForeignKey(key, ondelete="CASCADE"), nullable=False),
        Column("slot", String(1), nullable=False),
        Column("verifier", Text, nullable=False),
        Column("used_at", BigInteger),
        UniqueConstraint("account_key", "slot"),
    )


class RecoveryCodes:
    """The recovery codes of accounts. Never commits."""

    def __init__(self, session: DatabaseSession, table: Table, hasher: PasswordHasher) -> None:
        self._session = session
        self.table = table
        self._hasher = hasher

    def make(self) -> dict[str, str]:
        """A new set, each code with its verifier. Slow: to be done before anything is locked."""
        slots = secrets.SystemRandom().sample(ALPHABET, NUMBER)
        codes = [slot + _random(LENGTH - 1) for slot in slots]
        return {code: self._hasher.hash(code) for code in codes}

    def replace(self, account_key: Any, made: dict[str, str]) -> list[str]:
        """Keep a set in place of any old one; the codes, for the only time they can be seen."""
        self.remove(account_key)
        rows = [
            {
                "id": new_id(),
                "account_key": account_key,
                "slot": code[0],
                "verifier": verifier,
            }
            for code, verifier in made.items()
        ]
        self._execute(insert(self.table), rows)
        return [f"{code[:5]}-{code[5:]}" for code in made]

    def left(self, account_key: Any) -> int:
        """How many codes are unused."""
        table = self.table.c
        statement = select(func.count()).where(
            table.account_key == account_key, table.used_at.is_(None)
        )
        return int(self._execute(statement).scalar_one())

    def check(self, account_key: Any, code: str) -> bool:
        """Whether a code is right and unused; uses it up. One hash at most."""
        code = _plain(code)
        if not code:
            return False
        table = self.table
        row = self._execute(
            select(table.c.id, table.c.verifier).where(
                table.c.account_key == account_key, table.c.slot == code[0]
            )
        ).first()
        if row is None:
            return False
        try:
            self._hasher.verify(row.verifier, code)
        except VerifyMismatchError:
            return False
        # The row decides: a code works once, presented again or twice at once.
        used = self._execute(
            update(table)
            .where(table.c.id == row.id, table.c.used_at.is_(None))
            .values(used_at=int(time.time()))
        )
        return bool(used.rowcount)

    def remove(self, account_key: Any) -> None:
        """Forget all codes of an account."""
        self._execute(delete(self.table).where(self.table.c.account_key == account_key))

    def _execute(self, statement: Any, values: Any = None) -> Any:
        return self._session.connection().execute(statement, values)


def _random(length: int) -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def _plain(code: str) -> str:
    """A code as it was made, however it was typed; empty for what cannot be one."""
    plain = code.lower().replace("-", "").replace(" ", "").translate(_MISREAD)
    return plain if len(plain) == LENGTH and set(plain) <= set(ALPHABET) else ""
