"""The language of a page: what the visitor chose, else what their browser asks for.

Every text is marked for translation, in Python with `gettext` or `lazy_gettext`, in templates with
`_()`; those of idsync are translated here as well. After a change of texts:

    pybabel extract -F host_app/translations/babel.cfg -k lazy_gettext -k N_ -o messages.pot .
    pybabel update -i messages.pot -d host_app/translations
    pybabel compile -d host_app/translations
"""

from __future__ import annotations

from flask import Blueprint, Flask, Response, abort, current_app, redirect, request, url_for
from flask_babel import Babel, get_locale
from werkzeug.wrappers import Response as Answer

from host_app.next_address import local_path

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
        chosen,
        max_age=LIFETIME,
        httponly=True,
        samesite="Lax",
        secure=current_app.config["SESSION_COOKIE_SECURE"],
    )
    return answer


def _choose() -> str:
    chosen = request.cookies.get(COOKIE, "")
    return chosen if chosen in LANGUAGES else request.accept_languages.best_match(LANGUAGES) or "en"


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
