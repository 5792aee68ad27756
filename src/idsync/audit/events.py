"""The audit table and its writer. An event is written in the transaction of what it tells of.

Rows are added, read, and deleted when they are too old (`oauth/pruning.py`); nothing changes one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, String, Table, insert

from idsync.audit.announcing import announce_after_commit
from idsync.audit.reading import EventReader
from idsync.audit.values import COMMAND, SYSTEM, Actor, Event
from idsync.database import DatabaseSession, Json

__all__ = ["COMMAND", "SYSTEM", "Actor", "Audit", "Event", "Occurrence", "define_event_table"]

LONGEST_ACTOR = 128


def define_event_table(metadata: MetaData) -> Table:
    """`idsync_event`: one row per event. `at` is in unix seconds.

    No foreign keys: an event outlives the account and the application it tells of. Each index
    begins with what may be asked for and goes on in the order in which events are read.
    """
    return Table(
        "idsync_event",
        metadata,
        Column("id", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True),
        Column("at", BigInteger, nullable=False),
        Column("kind", String(64), nullable=False),
        Column("actor_kind", String(16), nullable=False),
        Column("actor", String(LONGEST_ACTOR)),
        Column("address", String(64)),
        Column("subject", String(64)),
        Column("client_id", String(64)),
        Column("details", Json, nullable=False),
        Index("ix_idsync_event_at", "at", "id"),
        Index("ix_idsync_event_kind", "kind", "at", "id"),
        Index("ix_idsync_event_subject", "subject", "at", "id"),
        Index("ix_idsync_event_client_id", "client_id", "at", "id"),
        Index("ix_idsync_event_actor", "actor", "at", "id"),
    )


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Something that happened to an account, where many are written at once."""

    subject: str
    details: dict[str, Any]


class Audit(EventReader):
    """Writes events, never commits; and reads them.

    address: gives the network address of the visitor whose request is being answered, None outside
    of one. It is noted where the actor brings none along.
    """

    def __init__(
        self,
        session: DatabaseSession,
        table: Table,
        address: Callable[[], str | None] = lambda: None,
    ) -> None:
        super().__init__(session, table)
        self._address = address

    def record(
        self,
        kind: str,
        actor: Actor,
        *,
        subject: str | None = None,
        client_id: str | None = None,
        previous_email: str | None = None,
        **details: Any,
    ) -> None:
        """Write one event. `details` hold names of what changed, never secrets or hashes.

        What a service does is noted under its client_id too, so that it is found by that.
        previous_email: the address that an account gives up; receivers of the signal are told, it
        is not stored.
        """
        if client_id is None and actor.kind == "service":
            client_id = actor.name
        columns = self._columns(kind, actor, client_id)
        self._write([{**columns, "subject": subject, "details": details}], previous_email)

    def record_all(self, kind: str, actor: Actor, occurrences: Iterable[Occurrence]) -> None:
        """Write an event of one kind for each of many accounts."""
        columns = self._columns(kind, actor, None)
        rows = [{**columns, "subject": one.subject, "details": one.details} for one in occurrences]
        if rows:
            self._write(rows)

    def _columns(self, kind: str, actor: Actor, client_id: str | None) -> dict[str, Any]:
        return {
            "at": int(time.time()),
            "kind": kind,
            "actor_kind": actor.kind,
            "actor": None if actor.name is None else actor.name[:LONGEST_ACTOR],
            "address": actor.address or self._address(),
            "client_id": client_id,
        }

    def _write(self, rows: list[dict[str, Any]], previous_email: str | None = None) -> None:
        self._session.connection().execute(insert(self._table), rows)
        for row in rows:
            announce_after_commit(self._session, {**row, "previous_email": previous_email})
