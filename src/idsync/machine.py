"""Manners of the endpoints that programs call: methods, CORS, no-store, a database that is away.

Shared by the OAuth endpoints and the account API; knows nothing of either.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

from flask import Response, has_request_context, json, request
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from werkzeug.exceptions import BadRequest, HTTPException, RequestEntityTooLarge

from idsync.database import COMMITTED, DatabaseSession
from idsync.errors import ServiceUnavailable

log = logging.getLogger("idsync")

RETRY_AFTER = 5
"""Seconds that a caller is asked to wait when the database is away."""

DATABASE_AWAY = (OperationalError, InterfaceError, PoolTimeout)

View = Callable[..., Response]


def json_response(status: int, body: Any, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer that no cache may keep (RFC 6749 §5.1)."""
    response = Response(json.dumps(body, ensure_ascii=False), status, mimetype="application/json")
    response.headers["Cache-Control"] = "no-store"
    response.headers.update(headers or {})
    return response


def endpoint(
    view: View,
    *,
    session: DatabaseSession,
    methods: tuple[str, ...],
    error_body: Callable[[str, str], dict[str, str]],
    any_origin: bool = False,
) -> View:
    """Wrap a view in the manners of a machine endpoint.

    error_body: makes the body of an error from its code and description.
    any_origin: browsers of any site may call it, without cookies (CORS).
    """

    @functools.wraps(view, updated=())
    def wrapped(**arguments: Any) -> Response:
        if request.method == "OPTIONS" and any_origin:
            response = Response(status=204)
        elif request.method not in methods:
            response = json_response(
                405,
                error_body("invalid_request", f"Use {' or '.join(methods)}."),
                {"Allow": ", ".join(methods)},
            )
        else:
            try:
                response = recovering(session, view, arguments)
            except ServiceUnavailable:
                response = json_response(
                    503,
                    error_body("temporarily_unavailable", "The database is away; try again."),
                    {"Retry-After": str(RETRY_AFTER)},
                )
            except RequestEntityTooLarge:
                response = json_response(
                    413, error_body("invalid_request", "The request is too large.")
                )
            except UnreadableBody:
                response = json_response(
                    400, error_body("invalid_request", "The request body cannot be read.")
                )
        if any_origin:
            allow_any_origin(response, methods)
        return response

    wrapped.provide_automatic_options = False  # type: ignore[attr-defined]
    return wrapped


ALL_METHODS = "GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT QUERY".split()
"""Every method is routed to the view, so that a wrong one gets our JSON instead of a page."""


def recovering(session: DatabaseSession, view: Callable[..., Any], arguments: Any) -> Any:
    """Run a view; where its pooled connection turns out dead, once more on a fresh one.

    Raises ServiceUnavailable when the database stays away. Nothing is repeated once a transaction
    of ours was committed, or failed in COMMIT and may have been: the second time would meet what
    the first one did, and take its own client for a replay.
    """
    session.info.pop(COMMITTED, None)
    try:
        try:
            return view(**arguments)
        except DBAPIError as error:
            session.rollback()
            if not error.connection_invalidated or session.info.get(COMMITTED):
                raise
            return view(**arguments)
    except DATABASE_AWAY as error:
        session.rollback()
        log.exception("The database did not answer.", exc_info=error)
        raise ServiceUnavailable("The database is away.") from error


def allow_any_origin(response: Response, methods: tuple[str, ...]) -> None:
    """Let a browser application on any origin read the answer; never with credentials.

    `*` does not cover Authorization in the allow-list (Fetch standard §3.3.3), so it is named.
    """
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Access-Control-Expose-Headers"] = "WWW-Authenticate, Retry-After"
    if request.method == "OPTIONS":
        response.headers["Access-Control-Allow-Methods"] = ", ".join(methods)
        response.headers["Access-Control-Allow-Headers"] = "Authorization, Content-Type"
        response.headers["Access-Control-Max-Age"] = "86400"


def note_caller(*, subject: str | None = None, client_id: str | None = None) -> None:
    """Leave word for the host's log of who asks: `idsync.subject` and `idsync.client_id` in the
    environ of the request, each where it is known.
    """
    if has_request_context():
        for name, value in (("idsync.subject", subject), ("idsync.client_id", client_id)):
            if value is not None:
                request.environ[name] = value


_BODY = "idsync.body"


class UnreadableBody(BadRequest):
    """The body does not arrive: the connection broke off, or its chunks are none."""


def request_body(longest: int) -> bytes:
    """The raw body, at most `longest` bytes; however often it is asked for, it is read once.

    Raises RequestEntityTooLarge and UnreadableBody.
    """
    keep_body(longest)
    body: bytes | HTTPException = request.environ[_BODY]
    if isinstance(body, HTTPException):
        raise body
    return body


def keep_body(longest: int) -> None:
    """Read the body now; what is wrong with it is raised where it is asked for."""
    if _BODY in request.environ:
        return
    kept: bytes | HTTPException
    try:
        # Werkzeug cuts a chunked body off at its limit and says nothing, so look one byte further.
        request.max_content_length = longest + 1
        kept = request.get_data()
        if len(kept) > longest:
            kept = RequestEntityTooLarge()
    except RequestEntityTooLarge as error:
        kept = error
    except Exception as error:
        # Each server has errors of its own for it, such as gunicorn's InvalidChunkSize.
        log.info("A request body could not be read: %s", type(error).__name__)
        kept = UnreadableBody()
    request.environ[_BODY] = kept


def issuer_of(configured: str) -> str:
    """The issuer: as configured, or the request's own address in debug mode and tests."""
    return configured or request.url_root.rstrip("/")
