"""What the demo consists of before it starts: a database, a few people and one application.

Made with the commands an operator would use.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import flask_migrate
from flask import Flask

from host_app import create_app
from host_app.models import db


@dataclass(frozen=True)
class DemoPerson:
    """Somebody to sign in as."""

    name: str
    email: str
    password: str
    about: str
    options: tuple[str, ...] = ()


SERVICE_TAG = "bookshelf"

# The services listen on the loopback interface only, so these need not be secret.
PEOPLE = (
    DemoPerson(
        "Ada Lovelace", "ada@example.org", "demo-ada",
        "an administrator: only with the identity service",
        ("--administrator", "--tag", SERVICE_TAG),
    ),
    DemoPerson(
        "Анна Ахматова", "anna@example.org", "demo-anna", "a student",
        ("--tag", "ученик", "--tag", SERVICE_TAG),
    ),
    DemoPerson(
        "Grace Hopper", "grace@example.org", "demo-grace", "a teacher",
        ("--tag", "наставник", "--tag", SERVICE_TAG),
    ),
    DemoPerson(
        "Omar Khayyam", "omar@example.org", "demo-omar", "no role", ("--tag", SERVICE_TAG)
    ),
    DemoPerson("Ибн Сина", "sina@example.org", "demo-sina", "may not use the demo application"),
)  # fmt: skip


@dataclass(frozen=True)
class DemoSettings:
    """The environment of each of the two services."""

    service: dict[str, str]
    application: dict[str, str]


def prepare(folder: Path, issuer: str, application: str) -> DemoSettings:
    """Fill the folder and say how to start the services on it.

    issuer, application: the addresses of the two services.
    """
    app = create_app({"HOST_FOLDER": str(folder), "IDSYNC_ISSUER": issuer})
    with app.app_context():
        flask_migrate.upgrade()
    for person in PEOPLE:
        _run(
            app, "account", "add", "--name", person.name, "--email", person.email,
            "--password-stdin", *person.options, typed=person.password,
        )  # fmt: skip
    # Whoever opens the application as "localhost" is sent back there.
    addresses = (application, application.replace("127.0.0.1", "localhost"))
    registered = _run(
        app, "application", "add", "Bookshelf",
        *(f"--redirect-uri={address}/callback" for address in addresses),
        "--scope", "openid profile email offline_access",
        "--accounts", "--service-tag", SERVICE_TAG,
    )  # fmt: skip
    with app.app_context():
        db.engine.dispose()
    return DemoSettings(
        service={
            "FLASK_HOST_FOLDER": str(folder),
            "FLASK_IDSYNC_ISSUER": issuer,
            # Nobody has a second factor yet; a real service never does without.
            "FLASK_HOST_CONSOLE_SECOND_FACTOR": "false",
            "FLASK_HOST_LOG": "quiet",
        },
        application={
            "DEMO_SECRET_KEY": secrets.token_urlsafe(32),
            "DEMO_ISSUER": issuer,
            "DEMO_CLIENT_ID": registered["client_id"],
            "DEMO_CLIENT_SECRET": registered["client_secret"],
            "DEMO_SERVICE_TAG": SERVICE_TAG,
            "DEMO_COPY": f"sqlite:///{folder / 'bookshelf.sqlite3'}",
        },
    )


def _run(app: Flask, *words: str, typed: str | None = None) -> dict[str, Any]:
    """Run `flask idsync …` and give what it printed."""
    result = app.test_cli_runner().invoke(
        args=["idsync", *words, "--json"], input=typed and f"{typed}\n", catch_exceptions=False
    )
    if result.exit_code != 0:
        raise RuntimeError(result.output)
    printed: dict[str, Any] = json.loads(result.stdout)
    return printed
