"""The reference identity service: a complete deployment of idsync.

Thin on purpose: settings, views, forms, templates and wiring. Every rule lives in `idsync`, of
which only public names are imported. Start with `create_app`, then `models.py` (the tables) and
`signing_in.py` (the one page of substance).

    flask --app host_app db upgrade
    gunicorn --config python:host_app.serving 'host_app:create_app()'
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flask import Flask
from flask_bootstrap import Bootstrap5
from flask_login import LoginManager
from flask_migrate import Migrate

from host_app import (
    activity,
    administration,
    connected,
    database,
    errors,
    forgotten,
    headers,
    health,
    language,
    logs,
    metrics,
    notices,
    passkeys,
    password,
    phone,
    profile,
    request_log,
    security,
    signing_in,
    start,
)
from host_app.configuration import configure
from host_app.models import db, identity

__all__ = ["create_app"]


def create_app(config: Mapping[str, Any] | None = None) -> Flask:
    """Make the service.

    Settings come from `host_app.configuration`'s defaults, then from the environment (`FLASK_` and
    the name), then from `config`. Raises idsync.ConfigurationError where one is missing or wrong.
    """
    given = dict(config or {})
    # The one setting that Flask wants before the others are read.
    folder = given.get("HOST_FOLDER") or os.environ.get("FLASK_HOST_FOLDER")
    app = request_log.LoggedFlask(
        __name__, instance_path=str(Path(folder).resolve()) if folder else None
    )
    configure(app, given)
    logs.set_up(app.config["HOST_LOG"])

    db.init_app(app)
    database.prepare_connections(app)
    Migrate(app, db, directory=str(Path(app.root_path, "migrations")), render_as_batch=True)

    csrf = headers.StrictCSRFProtect(app)
    csrf.exempt(language.blueprint)
    login_manager = LoginManager()
    login_manager.login_view = "signing_in.sign_in"
    login_manager.login_message = None
    login_manager.user_loader(identity.load_account)
    # Without the context processor: it would read the user from the database in every template,
    # the page that says the database is away included.
    login_manager.init_app(app, add_context_processor=False)
    identity.init_app(app)

    Bootstrap5(app)
    language.init_app(app)
    notices.init_app(app)
    forgotten.init_app(app)
    app.register_blueprint(start.blueprint)
    app.register_blueprint(signing_in.blueprint)
    app.register_blueprint(phone.blueprint)
    app.register_blueprint(passkeys.blueprint)
    app.register_blueprint(password.blueprint)
    app.register_blueprint(forgotten.blueprint)
    app.register_blueprint(profile.blueprint)
    app.register_blueprint(security.blueprint)
    app.register_blueprint(connected.blueprint)
    app.register_blueprint(activity.blueprint)
    app.register_blueprint(administration.blueprint)
    errors.init_app(app)
    headers.init_app(app)

    log = request_log.init_app(app, trusted=app.config["HOST_PROXIES"] > 0)
    metrics.init_app(app, log)
    health.init_app(app)
    request_log.behind_a_proxy(app)
    return app
