"""How far each service has come: what it sent as `since` or `If-None-Match`, and when.

What a service sends is what it has; what it was sent may never have arrived. A step is kept for
each revision at which a service was seen, so that it can be said how long a change took to arrive.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

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


def define_pull_step_table(metadata: MetaData) -> Table:
    """`idsync_pull_step`: when a service was first seen to have a revision, in unix seconds."""
    return Table(
        "idsync_pull_step",
        metadata,
        Column(
            "client_id",
            String(64),
            ForeignKey("idsync_application.client_id", ondelete="CASCADE"),
            primary_key=True,
        ),
        Column("incarnation", LargeBinary(8), primary_key=True),
        Column("revision", BigInteger, primary_key=True, autoincrement=False),
        Column("at", BigInteger, nullable=False, index=True),
    )


@dataclass(frozen=True, slots=True)
class Pull:
    """The last pull of an application. revision 0: it has asked for the whole list only."""

    client_id: str
    incarnation: bytes
    revision: int
    at: int

    def behind(self, incarnation: bytes, revision: int) -> int | None:
        """How many changes of the directory, as it is now, it had not seen; None where it holds
        nothing from which they could be counted.
        """
        knows = self.revision and self.incarnation == incarnation
        return revision - self.revision if knows else None


class Pulls:
    """Pulls in the database."""

    def __init__(self, session: DatabaseSession, table: Table, steps: Table) -> None:
        self._session = session
        self._table = table
        self._steps = steps

    def record(self, client_id: str, incarnation: bytes, revision: int) -> None:
        """Note what a service has, and commit."""
        table, now = self._table, int(time.time())
        place = {"incarnation": incarnation, "revision": revision}
        same = [table.c[name] == value for name, value in place.items()]
        own = update(table).where(table.c.client_id == client_id)

        def work(connection: Connection) -> None:
            if connection.execute(own.where(*same).values(at=now)).rowcount:
                return  # nothing new since its last pull, as nearly always
            if not connection.execute(own.values(at=now, **place)).rowcount:
                connection.execute(insert(table), {"client_id": client_id, "at": now, **place})
            self._step(connection, client_id, place, now)

        try:
            write(self._session, work)
        except IntegrityError:
            write(self._session, work)  # its first two pulls came at once

    def seen_at(self, client_id: str, incarnation: bytes, revision: int) -> int | None:
        """When a service was first seen to have this revision; None where nobody knows."""
        steps = self._steps.c
        statement = (
            select(steps.at)
            .where(
                steps.client_id == client_id,
                steps.incarnation == incarnation,
                steps.revision >= revision,
            )
            .order_by(steps.revision)
            .limit(1)
        )
        return self._session.connection().execute(statement).scalar()

    def _step(
        self, connection: Connection, client_id: str, place: dict[str, Any], now: int
    ) -> None:
        step, steps = {"client_id": client_id, **place}, self._steps
        if not place["revision"]:
            return
        known = select(steps.c.at).where(*(steps.c[name] == step[name] for name in step))
        if connection.execute(known).first() is None:
            connection.execute(insert(steps), {**step, "at": now})

    def all(self) -> dict[str, Pull]:
        """The last pull of each application, by client_id."""
        rows = self._session.connection().execute(select(self._table))
        return {row.client_id: Pull(*row) for row in rows}
