"""The reference host under test: an application on a test database, and what a visitor does.

Nothing here needs pytest. CSRF protection stays on; the functions below send what a browser would.
"""

import html
import json
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock
from urllib.parse import urlencode

import pyotp
from flask import Flask
from flask.testing import FlaskClient
from jinja2.bccache import Bucket, BytecodeCache
from werkzeug.test import TestResponse

from host_app import create_app
from host_app.models import db
from idsync.extension import EXTENSION
from prepared import make_tables

ISSUER = "http://localhost"  # the address that Flask's test client calls
REDIRECT_URI = "https://app.example.org/callback"

CHEAP_HASHES = {
    "IDSYNC_PBKDF2_ITERATIONS": 10_000,
    "IDSYNC_ARGON2_TIME_COST": 1,
    "IDSYNC_ARGON2_MEMORY_KIB": 8,
    "IDSYNC_ARGON2_PARALLELISM": 1,
}

# For tests that try more often than any person would.
NO_LIMITS = {"IDSYNC_ADDRESS_LIMIT": "1000000 per second", "IDSYNC_ACCOUNT_TRIES": 1_000_000}


class CompiledTemplates(BytecodeCache):
    """Templates are compiled once in a test process, not once for each host."""

    def __init__(self) -> None:
        self._compiled: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._compiled:
            bucket.bytecode_from_string(self._compiled[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._compiled[bucket.key] = bucket.bytecode_to_string()


COMPILED = CompiledTemplates()


@dataclass(frozen=True)
class Person:
    """An account and the password it was given."""

    id: str
    name: str
    email: str
    password: str


@dataclass(frozen=True)
class Client:
    """A registered application as its developer knows it; a public one has no secret."""

    client_id: str
    client_secret: str | None
    redirect_uri: str
    scope: str

    @property
    def basic(self) -> tuple[str, str]:
        """What the test client takes as `auth`."""
        return self.client_id, self.client_secret or ""


def configuration(database_url: str, **settings: Any) -> dict[str, Any]:
    """Settings of a host on this database: new keys, and hashes that cost next to nothing."""
    return {
        "TESTING": True,
        "SECRET_KEY": secrets.token_urlsafe(32),
        "SQLALCHEMY_DATABASE_URI": database_url,
        "IDSYNC_ISSUER": ISSUER,
        "IDSYNC_TOKEN_KEYS": [secrets.token_urlsafe(32)],
        "IDSYNC_SEALING_KEYS": [secrets.token_urlsafe(32)],
        **CHEAP_HASHES,
        **settings,
    }


def make_host(database_url: str, **settings: Any) -> Flask:
    """A host with its tables made. Whoever makes one closes it with `close_host`."""
    app = create_app(configuration(database_url, **settings))
    app.jinja_env.bytecode_cache = COMPILED
    make_tables(app)
    return app


@contextmanager
def host(config: Mapping[str, Any]) -> Iterator[Flask]:
    """A host with exactly these settings and without tables, closed at the end."""
    app = create_app(config)
    try:
        yield app
    finally:
        close_host(app)


def close_host(app: Flask) -> None:
    """Close the connections of a host, when its messages are sent."""
    send_messages(app)
    with app.app_context():
        db.session.remove()
        db.engine.dispose()


def send_messages(app: Flask) -> None:
    """Wait until all texts and mails of a host are sent, or have failed."""
    for outbox in app.extensions[EXTENSION].sign_in.outboxes:
        outbox.close()


def run(app: Flask, *args: str, input: str | None = None) -> Any:
    """Run `flask …` and give what it printed; its JSON, decoded, with `--json`."""
    result = app.test_cli_runner().invoke(args=args, input=input)
    if result.exit_code != 0:
        raise AssertionError(f"{' '.join(args)}: {result.output}") from result.exception
    return json.loads(result.stdout) if "--json" in args else result.stdout


def add_person(
    app: Flask,
    name: str = "Ada Lovelace",
    email: str = "ada@example.org",
    password: str = "correct horse",
    *options: str,
) -> Person:
    """Make an account; `options` are those of `flask idsync account add`."""
    command = ["idsync", "account", "add", "--name", name, "--email", email]
    added = run(app, *command, "--password-stdin", "--json", *options, input=f"{password}\n")
    return Person(added["id"], name, email, password)


def register_application(
    app: Flask,
    name: str = "Demo",
    *options: str,
    redirect_uri: str = REDIRECT_URI,
    scope: str = "openid profile email offline_access",
) -> Client:
    """Register an application; `options` are those of `flask idsync application add`."""
    command = ["idsync", "application", "add", name, "--redirect-uri", redirect_uri]
    added = run(app, *command, "--scope", scope, "--json", *options)
    return Client(added["client_id"], added.get("client_secret"), redirect_uri, scope)


def authorize_path(client: Client, **parameters: str) -> str:
    """The address an application sends a person to; `parameters` add to it or replace."""
    query = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": client.redirect_uri,
        "scope": client.scope,
        "state": "state-1",
        **parameters,
    }
    return "/oauth/authorize?" + urlencode(query)


def hidden_fields(page: str) -> dict[str, str]:
    """Names and values of the hidden fields of a page's first form, the CSRF token among them."""
    fields: dict[str, str] = {}
    form = re.search(r"<form\b.*?</form>", page, re.DOTALL)
    for tag in re.findall(r"<input\b[^>]*>", form[0] if form else ""):
        attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        if attributes.get("type") == "hidden":
            fields[attributes["name"]] = html.unescape(attributes.get("value", ""))
    return fields


def submit(
    client: FlaskClient, address: str, fields: Mapping[str, str], *, post_to: str | None = None
) -> TestResponse:
    """Open a page, fill in its form and send it (to `post_to`, where that is another address)."""
    page = client.get(address)
    if page.status_code != 200:
        raise AssertionError(f"{address} answered {page.status} {page.headers.get('Location')}")
    return client.post(
        post_to or address,
        data={**hidden_fields(page.text), **fields},
        headers={"Referer": page.request.url},
    )


def sign_in(
    client: FlaskClient, person: Person, *, password: str | None = None, address: str = "/sign-in"
) -> TestResponse:
    """Sign a person in at the sign-in page; `address` may carry a `next`."""
    password = person.password if password is None else password
    return submit(client, address, {"email": person.email, "password": password})


def is_signed_in(client: FlaskClient) -> bool:
    return "You are signed in" in client.get("/").text


def decide(client: FlaskClient, address: str, decision: str = "allow") -> TestResponse:
    """Answer the consent page at this address with `allow` or `deny`."""
    return submit(client, address, {"decision": decision}, post_to="/oauth/consent")


def follow(client: FlaskClient, response: TestResponse) -> TestResponse:
    """Follow redirects on this site; the first answer that leaves it, or is none, comes back."""
    for _ in range(10):
        location = response.headers.get("Location", "")
        if response.status_code not in (301, 302, 303, 307, 308) or not location.startswith("/"):
            return response
        response = client.get(location)
    raise AssertionError(f"The redirects do not end: {location}")


def authorize(
    client: FlaskClient, application: Client, person: Person, **parameters: str
) -> TestResponse:
    """Go through authorize as a browser: sign in and agree where asked, up to the last answer.

    That is the redirect to the application (its Location has the code or the error), or a page.
    """
    response = follow(client, client.get(authorize_path(application, **parameters)))
    if 'name="password"' in response.text:
        response = follow(client, sign_in(client, person, address=response.request.full_path))
    if 'name="decision"' in response.text:
        response = follow(client, decide(client, response.request.full_path))
    return response


# --- second factor -------------------------------------------------------------------------------


@dataclass(frozen=True)
class App:
    """An authenticator app that was set up, and the recovery codes its owner was shown."""

    secret: str
    recovery_codes: list[str]

    def code(self, at: float | None = None) -> str:
        """What the app shows, now or at a time in unix seconds."""
        return pyotp.TOTP(self.secret).at(int(time.time() if at is None else at))


def set_up_app(client: FlaskClient) -> App:
    """Set up an authenticator app for the person signed in at this browser, by the pages.

    It uses up the code of the step before this one, so that the app's present code still works.
    """
    submit(client, "/security", {}, post_to="/security/app")
    page = client.get("/security/app/confirm").text
    secret = re.search(r"host-key\"><code>([A-Z2-7 ]+)</code>", page)
    if secret is None:
        raise AssertionError(page)
    made = App(secret[1].replace(" ", ""), [])
    now = time.time()
    # The clock stands still meanwhile, so that no new step begins and makes the code too old.
    with mock.patch("time.time", return_value=now):
        answer = submit(client, "/security/app/confirm", {"code": made.code(now - 30)})
    return App(made.secret, re.findall(r"<li><code>([0-9a-z-]+)</code>", answer.text))
