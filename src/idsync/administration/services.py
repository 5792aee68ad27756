"""How far each service has come, and whether a change of an account has reached it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from enum import Enum

from idsync.account_api.pulls import Pull, Pulls
from idsync.accounts.revision import Revisions
from idsync.applications.application import Application
from idsync.applications.registry import Applications
from idsync.database import DatabaseSession


@dataclass(frozen=True, slots=True)
class Service:
    """An application with the right `accounts`, and how far its copy has come.

    last_pull: UTC; None where it never pulled. behind: how many changes of the directory it had not
    seen then; None where it holds nothing from which changes could be counted.
    """

    client_id: str
    name: str
    tag: str | None
    active: bool
    last_pull: dt.datetime | None
    behind: int | None


class Reach(Enum):
    """How a service stands to a change.

    REACHED: it has shown that it has the change. SENT: it was sent the whole list after the change,
    and does not say what it has. WAITING: it has not asked since. NEVER: it never pulled.
    """

    REACHED = "reached"
    SENT = "sent"
    WAITING = "waiting"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Arrival:
    """How a service stands to one change. after: how long it took, where that is known."""

    service: Service
    reach: Reach
    after: dt.timedelta | None


class Services:
    """The services that keep a copy of the accounts."""

    def __init__(
        self,
        session: DatabaseSession,
        applications: Applications,
        pulls: Pulls,
        revisions: Revisions,
    ) -> None:
        self._session = session
        self._applications = applications
        self._pulls = pulls
        self._revisions = revisions

    def all(self) -> list[Service]:
        """Every service by name."""
        return [service for service, _ in self._with_pulls()[1]]

    def find(self, client_id: str) -> Service | None:
        """One service; None where the application is none."""
        return next((one for one in self.all() if one.client_id == client_id), None)

    def arrivals(self, revision: int, changed_at: dt.datetime) -> list[Arrival]:
        """Whether each service has the change that was made at this revision and time (UTC)."""
        incarnation, services = self._with_pulls()
        return [
            self._arrival(service, pull, incarnation, revision, changed_at)
            for service, pull in services
        ]

    def _with_pulls(self) -> tuple[bytes, list[tuple[Service, Pull | None]]]:
        """The directory's incarnation, and every service with its last pull."""
        incarnation, revision = self._revisions.current(self._session)
        pulls, services = self._pulls.all(), []
        for one in self._applications.all():
            if one.accounts:
                pull = pulls.get(one.client_id)
                services.append((_service(one, pull, incarnation, revision), pull))
        return incarnation, services

    def _arrival(
        self,
        service: Service,
        pull: Pull | None,
        incarnation: bytes,
        revision: int,
        changed_at: dt.datetime,
    ) -> Arrival:
        reach = reach_of(pull, incarnation, revision, changed_at)
        seen = None
        if reach is Reach.REACHED:
            seen = self._pulls.seen_at(service.client_id, incarnation, revision)
        after = None if seen is None else max(_utc(seen) - changed_at, dt.timedelta())
        return Arrival(service, reach, after)


def reach_of(
    pull: Pull | None, incarnation: bytes, revision: int, changed_at: dt.datetime
) -> Reach:
    """How a service whose last pull this is stands to a change."""
    if pull is None:
        return Reach.NEVER
    if pull.revision:
        reached = pull.incarnation == incarnation and pull.revision >= revision
        return Reach.REACHED if reached else Reach.WAITING
    # To the second: a list of the same second may have been read before the change.
    return Reach.SENT if _utc(pull.at) > changed_at else Reach.WAITING


def _service(one: Application, pull: Pull | None, incarnation: bytes, revision: int) -> Service:
    return Service(
        client_id=one.client_id,
        name=one.name,
        tag=one.service_tag,
        active=one.active,
        last_pull=None if pull is None else _utc(pull.at),
        behind=None if pull is None else pull.behind(incarnation, revision),
    )


def _utc(seconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)
