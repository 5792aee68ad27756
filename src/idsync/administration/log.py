"""The audit log as an administrator reads it. Nobody writes to it from here."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Unpack

from idsync.accounts.transfer.files import safe_cell
from idsync.audit.events import Audit, Event
from idsync.audit.reading import Filters

PAGE = 50
"""Events on a page."""

KINDS = (
    "account adopted",
    "account attached",
    "account changed",
    "account created",
    "account erased",
    "account imported",
    "accounts exported",
    "application activated",
    "application changed",
    "application deactivated",
    "application disconnected",
    "application registered",
    "directory restored",
    "e-mail address confirmed",
    "grant issued",
    "logout token given up",
    "more sign-ins failed",
    "old rows deleted",
    "password changed",
    "password chosen by mail",
    "recovery code used",
    "recovery codes made",
    "second factor added",
    "second factor removed",
    "second factors reset",
    "secret rotated",
    "secrets resealed",
    "sign-in failed",
    "signed in",
    "signed out",
    "signed out everywhere",
    "signing key made",
    "signing key retired",
    "token replayed",
)
"""What may be asked for; every kind that is written."""

COLUMNS = ("id", "at", "kind", "actor_kind", "actor", "address", "subject", "client_id", "details")
"""Of an export."""


@dataclass(frozen=True, slots=True)
class EventPage:
    """A page of events. before: what the next page begins behind; None on the last one."""

    events: tuple[Event, ...]
    before: int | None


class Log:
    """Reads events, newest first."""

    kinds = KINDS

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    def page(self, *, before: int | None = None, **filters: Unpack[Filters]) -> EventPage:
        """`PAGE` events, older than the one with the id `before`."""
        if not _can_be_asked(filters):
            return EventPage((), None)
        found = self._audit.events(before=before, limit=PAGE + 1, **filters)
        more = len(found) > PAGE
        return EventPage(tuple(found[:PAGE]), found[PAGE - 1].id if more else None)

    def csv(self, **filters: Unpack[Filters]) -> Iterator[str]:
        """Every event as lines of CSV, the headings first, in constant memory."""
        return csv_lines(self._audit.all_events(**filters) if _can_be_asked(filters) else ())


def event_row(event: Event) -> dict[str, Any]:
    """An event by `COLUMNS`, as JSON has values; its time in ISO 8601."""
    values = (
        event.id,
        event.at.isoformat(),
        event.kind,
        event.actor.kind,
        event.actor.name,
        event.actor.address,
        event.subject,
        event.client_id,
        event.details,
    )
    return dict(zip(COLUMNS, values, strict=True))


def csv_lines(events: Iterable[Event]) -> Iterator[str]:
    """Events as lines of CSV, the headings first; no spreadsheet takes a cell for a formula."""
    yield _line(COLUMNS)
    for event in events:
        details = json.dumps(event.details, ensure_ascii=False)
        cells = {**event_row(event), "details": details}.values()
        yield _line("" if one is None else safe_cell(str(one)) for one in cells)


def _line(cells: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()


def _can_be_asked(filters: Filters) -> bool:
    """Whether a database takes the texts: PostgreSQL knows no NUL, UTF-8 no half character."""
    return not any(isinstance(text, str) and not text.isprintable() for text in filters.values())
