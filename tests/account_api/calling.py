"""A service that calls the account API of a host in this process. Nothing here needs pytest."""

import base64
import secrets
from dataclasses import dataclass
from typing import Any

from flask import Flask
from sqlalchemy import text
from werkzeug.test import TestResponse

import hosting
from host_app.models import db

ACCOUNTS = "/api/service/accounts"
SERVICES = "/api/services"
JSON = "application/json"


def a_hash() -> str:
    """A well-formed exchange hash of a password that nobody knows."""
    return f"pbkdf2$10000${secrets.token_hex(8)}${secrets.token_hex(32)}"


@dataclass(frozen=True)
class Service:
    """An application with the right `accounts`, and its calls."""

    app: Flask
    client: hosting.Client

    def call(self, method: str, path: str, **options: Any) -> TestResponse:
        """One request with the service's credentials."""
        program = self.app.test_client(use_cookies=False)
        options = {"auth": self.client.basic, "buffered": True, **options}
        return program.open(path, method=method, **options)

    def list(self, *, etag: str | None = None, **query: str) -> TestResponse:
        headers = {} if etag is None else {"If-None-Match": etag}
        return self.call("GET", ACCOUNTS, query_string=query, headers=headers)

    def whole(self, **query: str) -> dict[str, Any]:
        """The whole list, decoded."""
        answer = self.list(**query)
        assert answer.status_code == 200, answer.text
        assert answer.json["complete"] is True
        return dict(answer.json)

    def changes(self, since: str, **query: str) -> dict[str, Any]:
        """What changed, decoded."""
        answer = self.list(since=since, **query)
        assert answer.status_code == 200, answer.text
        assert answer.json["complete"] is False
        return dict(answer.json)

    def create(self, **body: Any) -> TestResponse:
        return self.call("POST", ACCOUNTS, json=body)

    def created(self, name: str = "Ada", **body: Any) -> str:
        """The id of a new account."""
        answer = self.create(name=name, **body)
        assert answer.status_code == 201, answer.text
        return str(answer.json["id"])

    def change(self, account_id: str, **body: Any) -> TestResponse:
        return self.call("POST", f"{ACCOUNTS}/{account_id}", json=body)

    def changed(self, account_id: str, **body: Any) -> dict[str, Any]:
        """The account after a change that was accepted."""
        answer = self.change(account_id, **body)
        assert answer.status_code == 200, answer.text
        return dict(answer.json)


def register(app: Flask, name: str = "Wiki", *options: str) -> Service:
    """Register a service."""
    return Service(app, hosting.register_application(app, name, "--accounts", *options))


def basic(client_id: str, secret: str) -> str:
    """An Authorization header."""
    return "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode()


def run(app: Flask, *command: str, **options: Any) -> Any:
    """Run `flask idsync …`."""
    return hosting.run(app, "idsync", *command, **options)


def ids(accounts: list[dict[str, Any]]) -> list[str]:
    """The ids of listed accounts, sorted."""
    return sorted(account["id"] for account in accounts)


def rows(app: Flask, statement: str, **values: Any) -> list[Any]:
    """What a statement selects, read apart from any request."""
    with app.app_context():
        found = db.session.execute(text(statement), values).all()
        db.session.rollback()
        return list(found)


def counter(app: Flask) -> int:
    """The directory's revision: unchanged means that nothing happened."""
    with app.app_context():
        revision = app.extensions["idsync"].revisions.current(db.session)[1]
        db.session.rollback()
        return int(revision)


def refusal(answer: TestResponse, status: int = 400) -> str:
    """The text of a refusal, after a look at its form."""
    assert answer.status_code == status, answer.text
    assert answer.mimetype == JSON
    assert answer.headers["Cache-Control"] == "no-store"
    assert set(answer.json) == {"error"}
    return str(answer.json["error"])
