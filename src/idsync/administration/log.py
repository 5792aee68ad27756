"""The audit log as an administrator reads it. Nobody writes to it from here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Unpack

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

    def all(self, **filters: Unpack[Filters]) -> Iterator[Event]:
        """Every event, in constant memory."""
        return self._audit.all_events(**filters) if _can_be_asked(filters) else iter(())


def _can_be_asked(filters: Filters) -> bool:
    """Whether a database takes the texts: PostgreSQL knows no NUL, UTF-8 no half character."""
    return not any(isinstance(text, str) and not text.isprintable() for text in filters.values())
