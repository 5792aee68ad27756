"""One log line for each request, and the id that ties it to all others of the request.

Neither the address that was asked for nor its query is written: codes, tokens and mailed links
travel in them. The rule of the route stands for it; where nothing matched there is none.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from flask import Flask, request
from werkzeug.middleware.proxy_fix import ProxyFix

from host_app.logs import request_id

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

HEADER = "X-Request-ID"
ROUTE = "host.route"
"""Key in the request's environ."""

# What proxies make: hexadecimal or a UUID. Anything else is not repeated.
_ID = re.compile(r"[0-9A-Za-z-]{8,64}")

_log = logging.getLogger("host_app.requests")


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that was answered. route: the rule, such as `/new-password/<link>`.

    milliseconds: until the answer was ready; how long a slow reader takes does not count. subject,
    client_id: who asked, as far as idsync came to know it (`idsync.subject`, `idsync.client_id` in
    the request's environ).
    """

    method: str
    route: str | None
    status: int
    milliseconds: float
    address: str | None
    subject: str | None
    client_id: str | None


Observer = Callable[[Answered], None]


class RequestLog:
    """Gives each request its id, and tells observers when it is answered.

    trusted: a proxy stands before the service, whose X-Request-ID is taken over.
    """

    def __init__(self, app: WSGIApplication, *, trusted: bool) -> None:
        self.app = app
        self.observers: list[Observer] = [write_line]
        self._trusted = trusted
        self._warned = trusted

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer the request."""
        own_id = self._id(environ)
        request_id.set(own_id)
        begun, status = time.perf_counter(), 500

        def start(line: str, headers: list[tuple[str, str]], *error: Any) -> Any:
            nonlocal status
            status = int(line[:3])
            return start_response(line, [*headers, (HEADER, own_id)], *error)

        try:
            return self.app(environ, start)
        finally:
            answered = Answered(
                method=environ["REQUEST_METHOD"],
                route=environ.get(ROUTE),
                status=status,
                milliseconds=round((time.perf_counter() - begun) * 1000, 1),
                address=environ.get("REMOTE_ADDR"),
                subject=environ.get("idsync.subject"),
                client_id=environ.get("idsync.client_id"),
            )
            for observe in self.observers:
                _tell(observe, answered)

    def _id(self, environ: WSGIEnvironment) -> str:
        if not self._warned and "HTTP_X_FORWARDED_FOR" in environ:
            self._warned = True
            _log.warning(
                "A request carries X-Forwarded-For, and HOST_PROXIES is 0. If a reverse proxy "
                "stands before the service, everybody has its address: set HOST_PROXIES."
            )
        given = environ.get("HTTP_X_REQUEST_ID", "") if self._trusted else ""
        return given if _ID.fullmatch(given) else secrets.token_hex(16)


class LoggedFlask(Flask):
    """Tells of a request that failed by its route, where Flask writes the address."""

    def log_exception(self, exc_info: Any) -> None:
        """Log what a view did not catch."""
        route = request.environ.get(ROUTE, "(no route)")
        self.logger.error("Exception on %s [%s]", route, request.method, exc_info=exc_info)


def init_app(app: Flask, *, trusted: bool) -> RequestLog:
    """Put the log around the application."""
    app.before_request_funcs.setdefault(None, []).insert(0, _note_route)
    log = RequestLog(app.wsgi_app, trusted=trusted)
    app.wsgi_app = log  # type: ignore[method-assign]
    return log


def behind_a_proxy(app: Flask) -> None:
    """Believe what as many reverse proxies say as there are."""
    count = app.config["HOST_PROXIES"]
    if count:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=count, x_proto=count, x_host=0)  # type: ignore[method-assign]


def _tell(observe: Observer, answered: Answered) -> None:
    """A full disk below the figures must not cost anybody an answer."""
    try:
        observe(answered)
    except Exception:
        _log.exception("A request could not be counted.")


def write_line(answered: Answered) -> None:
    """The line of a request."""
    fields = {name: value for name, value in asdict(answered).items() if value is not None}
    _log.info(
        "%s %s %d %.1f ms",
        answered.method,
        answered.route or "(no route)",
        answered.status,
        answered.milliseconds,
        extra={"fields": fields},
    )


def _note_route() -> None:
    if request.url_rule is not None:
        request.environ[ROUTE] = request.url_rule.rule
