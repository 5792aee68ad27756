"""How far each service has come: what it sent as `since` or `If-None-Match`, and when.

What a service sends is what it has; what it was sent may never have arrived.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    LargeBinary,
    MetaData,
    String,
    Table,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from idsync.database import DatabaseSession, write


def define_pull_table(metadata: MetaData) -> Table:
    """`idsync_pull`: one row per application that pulls. `at` is in unix seconds."""
    return Table(
        "idsync_pull",
        metadata,
        Column(
            "client_id",
            String(64),
            ForeignKey("idsync_application.client_id", ondelete="CASCADE"),
            primary_key=True,
        ),
        Column("incarnation", LargeBinary(8), nullable=False),
        Column("revision", BigInteger, nullable=False),
        Column("at", BigInteger, nullable=False),
    )


@dataclass(frozen=True, slots=True)
class Pull:
    """The last pull of an application. revision 0: it has asked for the whole list only."""

    client_id: str
    incarnation: bytes
    revision: int
    at: int


class Pulls:
    """Pulls in the database."""

    def __init__(self, session: DatabaseSession, table: Table) -> None:
        self._session = session
        self._table = table

    def record(self, client_id: str, incarnation: bytes, revision: int) -> None:
        """Note what a service has, and commit."""
        table, values = (
            self._table,
            {
                "incarnation": incarnation,
                "revision": revision,
                "at": int(time.time()),
            },
        )

        def work(connection: Connection) -> None:
            changed = connection.execute(
                update(table).where(table.c.client_id == client_id).values(values)
            )
            if not changed.rowcount:
                connection.execute(insert(table), {"client_id": client_id, **values})

        try:
            write(self._session, work)
        except IntegrityError:
            write(self._session, work)  # its first two pulls came at once

    def all(self) -> dict[str, Pull]:
        """The last pull of each application, by client_id."""
        rows = self._session.connection().execute(select(self._table))
        return {row.client_id: Pull(*row) for row in rows}
