"""How idsync is put into a Flask application that has its own addresses, forms and database.

Addresses that the host has already are refused by name. What depends on the order in which a host
sets up its extensions is decided at the first request, when all of them are there.
"""

from __future__ import annotations

from collections.abc import Callable

from flask import Blueprint, Flask, request
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.pool import StaticPool

from idsync.account_api.blueprint import ACCOUNTS
from idsync.errors import ConfigurationError
from idsync.machine import DATABASE_AWAY, keep_body
from idsync.oauth.blueprints import MACHINE, PAGES
from idsync.oauth.token import FORM
from idsync.parameters import LONGEST_INPUT
from idsync.settings import PREFIX, Settings

FROM_OTHER_SITES = (f"{PAGES}.authorize", f"{PAGES}.logout")
"""Pages that applications may POST to; a forged form gains nothing at them."""


def mount(app: Flask, blueprints: tuple[Blueprint, ...], settings: Settings) -> None:
    """Register the blueprints. Raises ConfigurationError where an address is taken."""
    for blueprint in blueprints:
        app.register_blueprint(blueprint)
    refuse_taken_addresses(app, settings)


def refuse_taken_addresses(app: Flask, settings: Settings) -> None:
    """Raise ConfigurationError where the host and idsync have the same address."""
    ours: dict[str, str] = {}
    theirs: dict[str, str] = {}
    for rule in app.url_map.iter_rules():
        is_ours = rule.endpoint.startswith((f"{MACHINE}.", f"{PAGES}.", f"{ACCOUNTS}."))
        (ours if is_ours else theirs)[rule.rule] = rule.endpoint
    for path in ours.keys() & theirs.keys():
        raise ConfigurationError(
            f"{path} is an address of this site already (endpoint {theirs[path]}). "
            f"Move one of them; {_setting_of(path, settings)}"
        )


def at_first_request(app: Flask, settings: Settings) -> None:
    """Look at what the host set up after us, once, before its own hooks run.

    CSRFProtect, if there is one, is kept off the machine endpoints and the pages other sites post
    to; it does not matter which of the two extensions was initialised first.
    """
    looked = False

    def look() -> None:
        nonlocal looked
        if not looked:
            refuse_taken_addresses(app, settings)
            csrf = app.extensions.get("csrf")
            if csrf is not None:
                csrf.exempt(app.blueprints[MACHINE])
                csrf.exempt(app.blueprints[ACCOUNTS])
                for endpoint in FROM_OTHER_SITES:
                    csrf.exempt(_location(app.view_functions[endpoint]))
            looked = True
        _keep_form()

    app.before_request_funcs.setdefault(None, []).insert(0, look)


def check_keys(app: Flask, db: SQLAlchemy, check: Callable[[], None]) -> None:
    """Refuse the start where the database needs a key we were not given.

    Before the first migration there is nothing to check, and a database that is away does not keep
    the site from starting: then the first requests look again.
    """
    checked = False

    def look() -> None:
        nonlocal checked
        if not checked:
            try:
                check()
                checked = True
            except (*DATABASE_AWAY, ProgrammingError):
                db.session.rollback()  # or PostgreSQL would refuse the host's own statements

    app.before_request_funcs.setdefault(None, []).insert(0, look)
    if "sqlalchemy" in app.extensions:
        with app.app_context():
            try:
                look()
            finally:
                # A server may fork after this; no connection may be shared with its workers.
                db.session.remove()
                # An in-memory database is its connection.
                if not isinstance(db.engine.pool, StaticPool):
                    db.engine.dispose()


def _keep_form() -> None:
    """Keep a posted form for our views: CSRFProtect, or a hook of the host, may read it first."""
    if request.blueprint in (MACHINE, PAGES) and request.mimetype == FORM:
        keep_body(LONGEST_INPUT)


def _location(view: Callable[..., object]) -> str:
    """The name by which CSRFProtect knows a view."""
    return f"{view.__module__}.{view.__name__}"


def _setting_of(path: str, settings: Settings) -> str:
    for name in Settings.__dataclass_fields__:
        if name.endswith("_path") and path.split("/<")[0] == getattr(settings, name):
            return f"ours is set by {PREFIX}{name.upper()}."
    return "ours is fixed by the standard."
