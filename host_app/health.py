"""`/healthz` and `/readyz`, for a load balancer.

    /healthz   the process answers; nothing else is looked at
    /readyz    200 when the database is reached and migrated and its sealing keys are ours, else 503

Answered before everything else of the application: whatever Host header the balancer sends, no
session, no redirect, no line in the log. A Redis that is away is reported and changes nothing,
because the service goes on without it. The answer says nothing that a stranger may not know.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NoAnswer
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from flask import Flask
from limits.storage import storage_from_string
from sqlalchemy.exc import SQLAlchemyError

from host_app.models import db, identity
from idsync import ConfigurationError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

HEALTH, READINESS = "/healthz", "/readyz"

LONGEST_LOOK = 2
"""Seconds until /readyz answers, whatever the database does."""

KEPT = 1
"""Seconds for which one look serves everybody who asks: asking often costs nothing."""

REDIS_TIMEOUT = 0.5  # seconds

OK, AWAY = "ok", "away"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Report:
    """What was found. database: ok, away, slow, or what is wrong with its tables. keys: ok, wrong,
    or unknown. limits: where tries per address are counted: memory, or a storage that is ok or
    away.
    """

    database: str
    keys: str = "unknown"
    limits: str = "unknown"

    @property
    def ready(self) -> bool:
        """Whether requests can be answered."""
        return self.database == OK and self.keys == OK


class Health:
    """Answers the two addresses, and hands everything else on."""

    def __init__(self, app: WSGIApplication, look: Callable[[], Report]) -> None:
        self.app = app
        self._readiness = Readiness(look)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a probe."""
        path = environ.get("PATH_INFO")
        if path not in (HEALTH, READINESS):
            return self.app(environ, start_response)
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            status, answer = "405 Method Not Allowed", {}
        elif path == HEALTH:
            status, answer = "200 OK", {"alive": True}
        else:
            report = self._readiness.report()
            status = "200 OK" if report.ready else "503 Service Unavailable"
            answer = {"ready": report.ready, **asdict(report)}
        body = json.dumps(answer).encode() + b"\n"
        headers = [
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
        ]
        if status.startswith("405"):
            headers.append(("Allow", "GET, HEAD"))
        start_response(status, headers)
        return [b"" if environ["REQUEST_METHOD"] == "HEAD" else body]


class Readiness:
    """Looks at most once at a time, in a thread of its own, and waits no longer than it should."""

    def __init__(self, look: Callable[[], Report]) -> None:
        self._look = look
        self._lock = threading.Lock()
        self._thread: ThreadPoolExecutor | None = None
        self._latest: Future[Report] | None = None
        self._begun = 0.0
        self._was_ready = True

    def report(self) -> Report:
        """The latest look, or a new one where that is too old."""
        with self._lock:
            latest = self._latest
            if latest is None or (latest.done() and time.monotonic() > self._begun + KEPT):
                if self._thread is None:  # made here, after a server has forked its workers
                    self._thread = ThreadPoolExecutor(1, thread_name_prefix="readiness")
                self._begun = time.monotonic()
                latest = self._latest = self._thread.submit(self._look)
        try:
            report = latest.result(LONGEST_LOOK)
        except NoAnswer:
            report = Report("slow")
        self._tell(report)
        return report

    def _tell(self, report: Report) -> None:
        """Log a change, not every probe."""
        if report.ready != self._was_ready:
            self._was_ready = report.ready
            word = "Ready again" if report.ready else "Not ready"
            _log.warning("%s: database %s, keys %s.", word, report.database, report.keys)


def init_app(app: Flask) -> None:
    """Put the two addresses before the application."""
    app.wsgi_app = Health(app.wsgi_app, lambda: look(app))  # type: ignore[method-assign]


def look(app: Flask) -> Report:
    """Look at the database and what belongs to it."""
    with app.app_context():
        try:
            problem = schema_problem(app)
            if problem:
                return Report(problem)
            return Report(OK, _keys(), _limits())
        except SQLAlchemyError as error:
            _log.info("The database did not answer a look: %s", type(error).__name__)
            return Report(AWAY)
        finally:
            db.session.remove()


def schema_problem(app: Flask) -> str | None:
    """What is wrong with the tables; None where they are those of this version, or of a later one.

    Later ones are fine: while hosts are updated one by one, the old ones serve a database that the
    first new one has migrated.
    """
    context = MigrationContext.configure(db.session.connection())
    current = context.get_current_revision()
    if current is None:
        return "not migrated"
    scripts = _scripts(app.extensions["migrate"].directory)
    if current == scripts.get_current_head():
        return None
    try:
        known = scripts.get_revision(current)
    except CommandError:
        known = None
    return None if known is None else "to be migrated"


@cache
def _scripts(folder: str) -> ScriptDirectory:
    return ScriptDirectory(folder)


def _keys() -> str:
    try:
        identity.condition.check_keys()
    except ConfigurationError:
        return "wrong"
    return OK


def _limits() -> str:
    address = identity.settings.limits_storage
    if address.startswith("memory:"):
        return "memory"
    try:
        return OK if _storage(address).check() else AWAY
    except Exception:  # each client library raises its own
        return AWAY


@cache
def _storage(address: str) -> Any:
    options = {"socket_timeout": REDIS_TIMEOUT, "socket_connect_timeout": REDIS_TIMEOUT}
    return storage_from_string(address, **options)
