"""Finding events again: by account, application, actor, kind and time, newest first.

Pages follow one another by the id of the last event seen, so that events written meanwhile move
nothing, and the last page of a million costs what the first does.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from typing import Any, TypedDict, Unpack

from sqlalchemy import Row, Table, func, literal, select, tuple_

from idsync.audit.values import Actor, Event
from idsync.database import DatabaseSession

PAGE = 1000
"""Events fetched at a time where all are wanted."""


class Filters(TypedDict, total=False):
    """What is asked for; all that is given must hold.

    subject, client_id: whom it happened to. actor: who did it, by name. kind: as written. since,
    until: aware times; `since` itself is included, `until` is not.
    """

    subject: str | None
    client_id: str | None
    actor: str | None
    kind: str | None
    since: dt.datetime | None
    until: dt.datetime | None


class EventReader:
    """Reads events."""

    def __init__(self, session: DatabaseSession, table: Table) -> None:
        self._session = session
        self._table = table

    def events(
        self, *, before: int | None = None, limit: int = 100, **filters: Unpack[Filters]
    ) -> list[Event]:
        """At most `limit` events, newest first; `before`: only those older than the one of this id.

        An event that is gone has nothing older beside it: then the list is empty.
        """
        table = self._table.c
        statement = (
            select(self._table)
            .where(*self._conditions(filters))
            .order_by(table.at.desc(), table.id.desc())
            .limit(limit)
        )
        if before is not None:
            at = (
                self._session.connection()
                .execute(select(table.at).where(table.id == before))
                .scalar()
            )
            if at is None:
                return []
            statement = statement.where(
                tuple_(table.at, table.id) < tuple_(literal(at), literal(before))
            )
        return [_event(row) for row in self._session.connection().execute(statement)]

    def all_events(self, **filters: Unpack[Filters]) -> Iterator[Event]:
        """Every event, newest first, in constant memory and without holding a snapshot open."""
        before = None
        while page := self.events(before=before, limit=PAGE, **filters):
            yield from page
            before = page[-1].id

    def count(self, **filters: Unpack[Filters]) -> int:
        """How many events there are."""
        statement = select(func.count()).select_from(self._table)
        found = self._session.connection().execute(statement.where(*self._conditions(filters)))
        return int(found.scalar_one())

    def _conditions(self, filters: Filters) -> list[Any]:
        table = self._table.c
        conditions: list[Any] = [
            table[name] == value
            for name in ("subject", "client_id", "actor", "kind")
            if (value := filters.get(name)) is not None
        ]
        since, until = filters.get("since"), filters.get("until")
        if since is not None:
            conditions.append(table.at >= _seconds(since))
        if until is not None:
            conditions.append(table.at < _seconds(until))
        return conditions


def _seconds(time: dt.datetime) -> int:
    if time.tzinfo is None:
        raise ValueError("A time to look for events by needs a zone.")
    # Whole seconds, as in the column: PostgreSQL would use no index to compare it with a fraction.
    return math.ceil(time.timestamp())


def _event(row: Row[Any]) -> Event:
    return Event(
        id=row.id,
        at=dt.datetime.fromtimestamp(row.at, dt.UTC),
        kind=row.kind,
        actor=Actor(row.actor_kind, row.actor, row.address),
        subject=row.subject,
        client_id=row.client_id,
        details=row.details,
    )
