"""Small sites in this process, each of a kind that somebody has: other keys, other addresses."""

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from flask import Flask, redirect, render_template_string, request
from flask_login import LoginManager, UserMixin, login_user
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Integer, MetaData

from existing_site.browser import Browser, Wiki, over_wsgi
from hosting import CHEAP_HASHES
from idsync import IdSync

MAIL, PASSWORD = "ada@example.org", "correct horse"
REDIRECT_URI = "https://wiki.example.org/callback"

LOGIN_PAGE = """
<form method="post">
  {% if csrf_token is defined %}
  <input type="hidden" name="csrf_token" value="{{ csrf_token() }}">
  {% endif %}
  <input name="mail"> <input name="password" type="password"> <button>Sign in</button>
</form>
"""


@dataclass(frozen=True)
class Host:
    """A site's parts as its modules would name them, before there is an application."""

    db: SQLAlchemy
    user_class: Any
    identity: IdSync


def make_host(
    key_type: Any = Integer, metadata: MetaData | None = None, **key_options: Any
) -> Host:
    """The models of a site whose people have a key of this type."""
    db = SQLAlchemy(metadata=metadata)

    class User(UserMixin, db.Model):
        key = db.Column(key_type, primary_key=True, **key_options)
        name = db.Column(db.String(80))
        email = db.Column(db.String(80))

        def get_id(self) -> str:
            return str(self.key)

    return Host(db, User, IdSync(db, account=User))


def configuration(database_url: str, issuer: str) -> dict[str, Any]:
    return {
        "SECRET_KEY": "the same in every site here",
        "SQLALCHEMY_DATABASE_URI": database_url,
        "IDSYNC_ISSUER": issuer,
        "IDSYNC_TOKEN_KEYS": [secrets.token_urlsafe(32)],
        "IDSYNC_SEALING_KEYS": [secrets.token_urlsafe(32)],
        **CHEAP_HASHES,
    }


@contextmanager
def running(
    host: Host,
    database_url: str = "sqlite://",
    *,
    issuer: str = "https://sso.example.org",
    before: Callable[[Flask], object] = lambda app: None,
    after: Callable[[Flask], object] = lambda app: None,
    **settings: Any,
) -> Iterator[Flask]:
    """An application of this site on an empty database; `before` and `after` surround init_app."""
    app = Flask("a_site")
    app.config.update({**configuration(database_url, issuer), **settings})
    host.db.init_app(app)
    login_manager = LoginManager(app)
    login_manager.login_view = "login"
    login_manager.user_loader(host.identity.load_account)
    before(app)
    host.identity.init_app(app)
    after(app)

    @app.route("/login", methods=["GET", "POST"])
    def login() -> Any:
        user = host.identity.find_user(request.form.get("mail", ""))
        if host.identity.check_password(user, request.form.get("password", "")):
            login_user(user)
            return redirect(request.args["next"])
        return render_template_string(LOGIN_PAGE)

    with app.app_context():
        host.db.create_all()
    try:
        yield app
    finally:
        with app.app_context():
            host.db.session.remove()
            host.db.engine.dispose()


def add_person(host: Host, app: Flask, **key: Any) -> None:
    """Add Ada as the site itself would."""
    with app.app_context():
        user = host.user_class(name="Ada Lovelace", email=MAIL, **key)
        host.db.session.add(user)
        host.identity.set_password(user, PASSWORD)
        host.db.session.commit()


def register_wiki(app: Flask, application: Any) -> Wiki:
    """Register the wiki at `app`, which is reached by calling the WSGI `application`."""
    command = ["idsync", "application", "add", "Wiki", "--redirect-uri", REDIRECT_URI]
    result = app.test_cli_runner().invoke(args=[*command, "--scope", Wiki.scope, "--json"])
    credentials = json.loads(result.stdout)
    issuer = app.config["IDSYNC_ISSUER"]
    return Wiki.discover(over_wsgi(application), issuer, redirect_uri=REDIRECT_URI, **credentials)


def browser_at(wiki: Wiki, application: Any) -> Browser:
    """A browser without cookies, at the wiki's provider."""
    return Browser(wiki.provider["issuer"], over_wsgi(application))
