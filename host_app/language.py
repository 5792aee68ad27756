"""The language of a page: what the application asked for, else what the visitor chose, else what
their browser asks for. Who chooses after the application asked has the last word.

Every text is marked for translation, in Python with `gettext` or `lazy_gettext`, in templates with
`_()`; those of idsync are translated here as well. After a change of texts:

    pybabel extract -F host_app/translations/babel.cfg -k lazy_gettext -k N_ \
        -k InvalidValue:2 --no-location --sort-output --width=100 -o messages.pot .
    pybabel update -i messages.pot -d host_app/translations --width=100 --ignore-obsolete \
        --no-fuzzy-matching
    pybabel compile -d host_app/translations
"""

from __future__ import annotations

import time

from flask import Blueprint, Flask, Response, abort, current_app, redirect, request, url_for
from flask_babel import Babel, get_locale
from flask_login import current_user
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.wrappers import Response as Answer

from host_app.models import db, identity
from host_app.next_address import local_path
from idsync import signals

LANGUAGES = {"en": "English", "ru": "Русский"}

COOKIE = "identity_language"
LIFETIME = 365 * 24 * 3600
"""Seconds."""

blueprint = Blueprint("language", __name__)


def init_app(app: Flask) -> None:
    """Translate the pages of this application."""
    Babel(app, locale_selector=_choose, default_locale="en")
    app.jinja_env.globals["get_locale"] = get_locale
    app.jinja_env.globals["languages"] = LANGUAGES
    app.jinja_env.globals["this_page"] = _this_page
    app.register_blueprint(blueprint)
    app.after_request(_say_that_it_varies)
    signals.signed_in.connect(_remember, app)


@blueprint.post("/language")
def choose() -> Answer:
    """Keep the visitor's choice in a cookie, and go back to where they were.

    Without a CSRF token: a forged choice does no harm, and error pages need no session for it.
    """
    chosen = request.form.get("language", "")
    if chosen not in LANGUAGES:
        abort(400)
    answer = redirect(local_path(request.form.get("back")) or url_for("start.page"), 303)
    answer.set_cookie(
        COOKIE,
        f"{chosen}.{int(time.time())}",
        max_age=LIFETIME,
        httponly=True,
        samesite="Lax",
        secure=current_app.config["SESSION_COOKIE_SECURE"],
    )
    return answer


def _choose() -> str:
    hints = identity.request_hints()
    asked = (tag.partition("-")[0].lower() for tag in hints.ui_locales)
    wanted = next((one for one in asked if one in LANGUAGES), None)
    chosen, _, at = request.cookies.get(COOKIE, "").partition(".")
    if wanted is None or (chosen in LANGUAGES and _is_later(at, hints.asked_at)):
        return _own_language()
    return wanted


def _own_language() -> str:
    """What the person chose, else what their browser asks for."""
    chosen = request.cookies.get(COOKIE, "").partition(".")[0]
    return chosen if chosen in LANGUAGES else request.accept_languages.best_match(LANGUAGES) or "en"


def _is_later(chosen_at: str, asked_at: int | None) -> bool:
    plain = chosen_at.isascii() and chosen_at.isdecimal() and len(chosen_at) < 12
    return asked_at is not None and plain and int(chosen_at) >= asked_at


def _remember(app: Flask, **_: object) -> None:
    """Keep the language of who signed in, for mail: theirs, not what an application asked for."""
    language = _own_language()
    try:
        if current_user.language != language:
            current_user.language = language
            db.session.commit()
    except SQLAlchemyError:
        # The person is signed in; their language is kept the next time.
        db.session.rollback()
        app.logger.exception("The language of a person could not be kept.")


def _this_page() -> str:
    """The address to come back to; none after a form was sent, or where it cannot be read.

    A request of an application is repeated only in the signed form in which it was accepted: an
    error page holds nothing that a stranger wrote.
    """
    try:
        refused = request.blueprint == "idsync" and "pending" not in request.args
        return "" if refused or request.method != "GET" else request.full_path.rstrip("?")
    except UnicodeDecodeError:
        return ""


def _say_that_it_varies(response: Response) -> Response:
    if response.mimetype == "text/html":
        response.vary.add("Accept-Language")
        response.headers.setdefault("Content-Language", str(get_locale() or "en"))
    return response
