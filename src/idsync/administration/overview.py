"""What happened in the last days, counted."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass

from sqlalchemy import Table, func, select

from idsync.database import DatabaseSession

DAYS = 7
DAY = 86_400
"""Seconds."""

COUNTED = ("signed in", "sign-in failed", "grant issued")
"""Kinds of events."""


@dataclass(frozen=True, slots=True)
class Day:
    """A day in UTC. failures: wrong passwords and codes. grants: people who went on to an
    application.
    """

    date: dt.date
    sign_ins: int
    failures: int
    grants: int


class Overview:
    """Counts events."""

    def __init__(self, session: DatabaseSession, events: Table) -> None:
        self._session = session
        self._events = events

    def days(self) -> list[Day]:
        """The last days, today first."""
        today = int(time.time()) // DAY
        events = self._events.c
        day = (events.at // DAY).label("day")
        statement = (
            select(events.kind, day, func.count())
            .where(events.kind.in_(COUNTED), events.at >= (today - DAYS + 1) * DAY)
            .group_by(events.kind, day)
        )
        rows = self._session.connection().execute(statement)
        counts = {(kind, int(number)): count for kind, number, count in rows}
        return [
            Day(
                dt.datetime.fromtimestamp(number * DAY, dt.UTC).date(),
                *(counts.get((kind, number), 0) for kind in COUNTED),
            )
            for number in range(today, today - DAYS, -1)
        ]
