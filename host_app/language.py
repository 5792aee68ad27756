"""The language of a page: the visitor's, where we have it.

Every text is marked for translation, in Python with `gettext` or `lazy_gettext`, in templates with
`_()`.
"""

from __future__ import annotations

from flask import Flask, request
from flask_babel import Babel, get_locale

LANGUAGES = ["en"]


def init_app(app: Flask) -> None:
    """Translate the pages of this application."""
    Babel(app, locale_selector=_choose, default_locale=LANGUAGES[0])
    app.jinja_env.globals["get_locale"] = get_locale


def _choose() -> str:
    return request.accept_languages.best_match(LANGUAGES) or LANGUAGES[0]
