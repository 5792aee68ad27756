"""Who comes in: checked before every page of the console, whatever it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, current_app, flash, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from flask_login import current_user
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

from host_app.administration.shown import SHOWN
from host_app.models import identity
from idsync import (
    AdministratorRequired,
    RecentSignInRequired,
    SecondFactorRequired,
    UnknownRecord,
)

if TYPE_CHECKING:
    from idsync import Console

blueprint = Blueprint("administration", __name__, url_prefix="/administration")


def console() -> Console:
    """What the administrator of this request can do."""
    given: Console = g.console
    return given


@blueprint.before_request
def enter() -> None:
    """Let an administrator in. Raises what the handlers below turn into pages."""
    second_factor = current_app.config["HOST_CONSOLE_SECOND_FACTOR"]
    g.console = identity.require_administrator(second_factor=second_factor)


@blueprint.after_request
def keep_nowhere(response: Response) -> Response:
    """Nothing of the console is cached, a download neither."""
    response.headers["Cache-Control"] = "no-store"
    return response


@blueprint.context_processor
def with_shown() -> dict[str, object]:
    """How times, kinds of events and the like are written."""
    return dict(SHOWN)


@blueprint.errorhandler(RecentSignInRequired)
def sign_in_again(error: RecentSignInRequired) -> ResponseReturnValue:
    """Nobody is signed in, or the sign-in is too old: sign in, and come back to the same page."""
    if current_user.is_authenticated:
        flash(gettext("Please sign in again: the console stays open for half an hour."))
    back = request.full_path.rstrip("?") if request.method == "GET" else url_for(".overview")
    return redirect(url_for("signing_in.sign_in", next=back), 303)


@blueprint.errorhandler(AdministratorRequired)
def not_an_administrator(error: AdministratorRequired) -> ResponseReturnValue:
    """Somebody else's page."""
    return _refusal(
        gettext("This page is for administrators"),
        gettext("Your account may not use the administration console."),
        url_for("start.page"),
        gettext("To the start page"),
    )


@blueprint.errorhandler(SecondFactorRequired)
def no_second_factor(error: SecondFactorRequired) -> ResponseReturnValue:
    """An administrator who has to set one up first."""
    return _refusal(
        gettext("A second factor is needed"),
        gettext(
            "Your password alone does not open the console. Set up an authenticator app or a "
            "passkey, and come back."
        ),
        url_for("security.page"),
        gettext("How you sign in"),
    )


@blueprint.errorhandler(UnknownRecord)
def unknown(error: UnknownRecord) -> ResponseReturnValue:
    """Somebody or something that is gone, or never was."""
    return current_app.handle_http_exception(NotFound())


def _refusal(title: str, message: str, link: str, link_text: str) -> tuple[str, int]:
    page = render_template(
        "error.html", title=title, message=message, link=link, link_text=link_text
    )
    return page, 403
