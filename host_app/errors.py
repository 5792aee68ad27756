"""Errors as pages in the look of the rest, none of which needs the database."""

from __future__ import annotations

from flask import Flask, current_app, flash, redirect, render_template, request, url_for
from flask.globals import request_ctx
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from flask_wtf.csrf import CSRFError
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from werkzeug.exceptions import HTTPException, abort

from host_app.models import db
from idsync import RecentSignInRequired

RETRY_AFTER = 5
"""Seconds that a browser is asked to wait while the database is away."""


def init_app(app: Flask) -> None:
    """Show the errors of this application as pages."""
    app.before_request_funcs.setdefault(None, []).insert(0, _refuse_unreadable)
    app.register_error_handler(CSRFError, _expired)
    app.register_error_handler(HTTPException, _refused)
    app.register_error_handler(RecentSignInRequired, _sign_in_again)
    for away in (OperationalError, InterfaceError, PoolTimeout):
        app.register_error_handler(away, _database_away)


def _refuse_unreadable() -> None:
    """Read now what Werkzeug would fail on later. What is sent to idsync, idsync reads itself."""
    if (request.blueprint or "").startswith("idsync"):
        return
    try:
        request.query_string.decode()  # raw bytes that are not UTF-8
        request.get_data()  # chunks that are none
    except HTTPException:
        raise
    except Exception:
        abort(400)


def _expired(error: CSRFError) -> ResponseReturnValue:
    """A form without its token: most often a page left open, or a browser without cookies."""
    again = request.full_path if "GET" in _methods() else url_for("start.page")
    return _page(
        400,
        gettext("This page has expired"),
        gettext("Nothing was changed. Load the page again; if that does not help, allow cookies."),
        again,
        gettext("Load it again"),
    )


def _sign_in_again(error: RecentSignInRequired) -> ResponseReturnValue:
    """What the person was about to change asks for a sign-in of the last minutes."""
    flash(gettext("Please sign in again before you change how you sign in."))
    back = request.path if request.method == "GET" else url_for("security.page")
    return redirect(url_for("signing_in.sign_in", next=back), 303)


def _refused(error: HTTPException) -> ResponseReturnValue:
    status = error.code or 500
    if request_ctx.url_adapter is None:
        # The Host header is no host name: there are no addresses, so there is no page either.
        return _texts(status)[1], status, {"Content-Type": "text/plain; charset=utf-8"}
    body, status = _page(status, *_texts(status))
    # Such as Allow, which says what would have been right.
    kept = {name: value for name, value in error.get_headers() if name != "Content-Type"}
    return body, status, kept


def _database_away(error: Exception) -> ResponseReturnValue:
    # Only the log tells what happened; the address of a database is nobody's business.
    db.session.rollback()
    current_app.logger.error("The database did not answer.", exc_info=error)
    body, status = _page(503, *_texts(503))
    return body, status, {"Retry-After": str(RETRY_AFTER)}


def _texts(status: int) -> tuple[str, str]:
    if status == 404:
        return (
            gettext("There is no such page"),
            gettext("The address may be mistyped, or the page has moved."),
        )
    if status == 503:
        return (
            gettext("Please try again in a moment"),
            gettext("The service cannot reach its database. Nothing you did is lost."),
        )
    if status >= 500:
        return (
            gettext("Something went wrong on our side"),
            gettext("It has been recorded. Please try again later."),
        )
    return (
        gettext("That did not work"),
        gettext("The service could not make sense of this request. Go back and try again."),
    )


def _methods() -> frozenset[str]:
    rule = request.url_rule
    return frozenset(rule.methods or ()) if rule is not None else frozenset()


def _page(
    status: int, title: str, message: str, link: str | None = None, link_text: str | None = None
) -> tuple[str, int]:
    page = render_template(
        "error.html",
        title=title,
        message=message,
        link=link or url_for("start.page"),
        link_text=link_text or gettext("To the start page"),
    )
    return page, status
