"""The audit table and its writer. An event is written in the transaction of what it tells of."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, String, Table, insert

from idsync.database import DatabaseSession, Json


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts. kind: person, service, command or system; name: subject, client_id or program."""

    kind: str
    name: str | None = None
    address: str | None = None


COMMAND = Actor("command", "flask idsync")
SYSTEM = Actor("system")


def define_event_table(metadata: MetaData) -> Table:
    """`idsync_event`: one row per event. `at` is in unix seconds.

    No foreign keys: an event outlives the account and the application it tells of.
    """
    return Table(
        "idsync_event",
        metadata,
        Column("id", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True),
        Column("at", BigInteger, nullable=False),
        Column("kind", String(64), nullable=False),
        Column("actor_kind", String(16), nullable=False),
        Column("actor", String(128)),
        Column("address", String(64)),
        Column("subject", String(64)),
        Column("client_id", String(64)),
        Column("details", Json, nullable=False),
        Index("ix_idsync_event_at", "at"),
        Index("ix_idsync_event_subject", "subject", "at"),
    )


class Audit:
    """Writes events; never commits."""

    def __init__(self, session: DatabaseSession, table: Table) -> None:
        self._session = session
        self._table = table

    def record(
        self,
        kind: str,
        actor: Actor,
        *,
        subject: str | None = None,
        client_id: str | None = None,
        **details: Any,
    ) -> None:
        """Write one event. `details` hold names of what changed, never secrets or hashes."""
        self._session.connection().execute(
            insert(self._table),
            {
                "at": int(time.time()),
                "kind": kind,
                "actor_kind": actor.kind,
                "actor": actor.name,
                "address": actor.address,
                "subject": subject,
                "client_id": client_id,
                "details": details,
            },
        )
