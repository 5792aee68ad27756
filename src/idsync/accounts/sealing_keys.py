"""Which sealing keys the database depends on: their ids and check values, so that a start with a
missing or mistaken key is refused before anything is lost; and moving every secret to the newest.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Iterator
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    LargeBinary,
    MetaData,
    Table,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from idsync.crypto.sealing import Sealer, UnsealError
from idsync.database import DatabaseSession, write
from idsync.errors import ConfigurationError

BATCH = 200
"""Rows resealed in one transaction: short enough to disturb nobody."""

PAUSE = 0.2
"""Seconds until rows that others held are tried again."""


def define_sealing_key_table(metadata: MetaData) -> Table:
    """`idsync_sealing_key`: ids and check values of the keys in use; no key."""
    return Table(
        "idsync_sealing_key",
        metadata,
        Column("key_id", LargeBinary(4), primary_key=True),
        Column("check_value", LargeBinary(32), nullable=False),
        Column("created_at", BigInteger, nullable=False),
    )


class SealingKeys:
    """Checks the configured sealing keys against the database and retires old ones."""

    def __init__(self, session: DatabaseSession, table: Table, sealer: Sealer) -> None:
        self._session = session
        self._table = table
        self._sealer = sealer

    def check(self) -> None:
        """Refuse to work without a key that something is sealed with; note the newest one.

        Raises ConfigurationError naming the key.
        """
        known = {
            row.key_id: row.check_value
            for row in self._session.connection().execute(select(self._table))
        }
        for key_id, check_value in known.items():
            if key_id not in self._sealer.key_ids:
                raise ConfigurationError(
                    f"The database holds secrets sealed with the key {key_id.hex()}, which is not "
                    "in IDSYNC_SEALING_KEYS. Put that key back; after `flask idsync keys reseal` "
                    "it can be removed."
                )
            if not hmac.compare_digest(check_value, self._sealer.check_value(key_id)):
                raise ConfigurationError(
                    f"The sealing key {key_id.hex()} in IDSYNC_SEALING_KEYS is not the one this "
                    "database was sealed with. Is this the right database?"
                )
        newest = self._sealer.key_ids[0]
        if newest not in known:
            self._note(newest)

    def ids(self) -> list[tuple[str, bool]]:
        """The id of every key the database may depend on, and whether it is configured."""
        rows = self._session.connection().execute(
            select(self._table.c.key_id).order_by(self._table.c.created_at)
        )
        return [(row.key_id.hex(), row.key_id in self._sealer.key_ids) for row in rows]

    def configured_ids(self) -> list[str]:
        """The ids of the configured keys, newest first."""
        return [key_id.hex() for key_id in self._sealer.key_ids]

    def forget_old(self) -> list[str]:
        """Stop depending on all keys but the newest, once everything is resealed."""
        newest, table = self._sealer.key_ids[0], self._table
        old = [key_id for key_id, _ in self.ids() if key_id != newest.hex()]
        write(self._session, lambda c: c.execute(delete(table).where(table.c.key_id != newest)))
        return old

    def stale(self, table: Table, column: str) -> int:
        """How many values of a column are sealed with another key than the newest."""
        statement = select(func.count()).select_from(table).where(self._is_stale(table.c[column]))
        return int(self._session.connection().execute(statement).scalar_one())

    def reseal(self, table: Table, column: str, subject: str, purpose: str) -> Iterator[int]:
        """Seal one column of a table anew with the newest key; yields how many, batch by batch.

        `subject`: the column whose value the secret is bound to. Each batch is its own
        transaction and writes only where the value is still the one read, so the service may run
        meanwhile, and after an interruption the next run goes on. Goes round until none is left:
        a row that somebody else holds is passed over, so that nobody deadlocks with this, and a
        worker that was not restarted yet still seals with an older key.
        Raises UnsealError naming the row that cannot be opened.
        """
        while self.stale(table, column):
            done = 0
            for number in self._go_round(table, column, subject, purpose):
                done += number
                yield number
            if not done:
                self._session.rollback()
                time.sleep(PAUSE)
        self._session.rollback()

    def unopenable(self, table: Table, column: str, subject: str, purpose: str) -> Iterator[str]:
        """A sentence for every value of a column that no configured key opens."""
        rows = self._session.connection().execute(
            select(table.c[subject], table.c[column]).where(table.c[column].is_not(None)),
            execution_options={"yield_per": BATCH},
        )
        for its, blob in rows:
            try:
                self._open(blob, purpose, its)
            except UnsealError as error:
                yield str(error)

    def _go_round(self, table: Table, column: str, subject: str, purpose: str) -> Iterator[int]:
        key = table.c[subject]
        statement = (
            select(key, table.c[column])
            .where(key > bindparam("after"), self._is_stale(table.c[column]))
            .order_by(key)
            .limit(BATCH)
            .with_for_update(skip_locked=True, key_share=True)
        )
        change = (
            update(table)
            .where(key == bindparam("its"), table.c[column] == bindparam("old"))
            .values({column: bindparam("new")})
        )
        after = ""
        while rows := self._session.connection().execute(statement, {"after": after}).all():
            self._apply(
                change,
                [
                    {"its": its, "old": blob, "new": self._anew(blob, purpose, its)}
                    for its, blob in rows
                ],
            )
            after = rows[-1][0]
            yield len(rows)

    def _apply(self, statement: Any, changes: list[dict[str, Any]]) -> None:
        write(self._session, lambda connection: connection.execute(statement, changes))

    def _anew(self, blob: bytes, purpose: str, subject: str) -> bytes:
        plain = self._open(blob, purpose, subject)
        return self._sealer.seal(plain, purpose=purpose, subject=subject)

    def _open(self, blob: bytes, purpose: str, subject: str) -> bytes:
        try:
            return self._sealer.unseal(blob, purpose=purpose, subject=subject)
        except UnsealError as error:
            raise UnsealError(f"{subject}: the {purpose} cannot be opened: {error}") from None

    def _is_stale(self, column: Column[Any]) -> Any:
        header = self._sealer.header
        return func.substr(column, 1, len(header), type_=LargeBinary) != header

    def _note(self, key_id: bytes) -> None:
        values = {
            "key_id": key_id,
            "check_value": self._sealer.check_value(key_id),
            "created_at": int(time.time()),
        }
        try:
            write(self._session, lambda c: c.execute(insert(self._table), values))
        except IntegrityError:
            return  # another process noted it
