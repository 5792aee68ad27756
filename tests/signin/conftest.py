"""The parts of signing in, inside the reference host."""

import time
from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient

from host_app.models import User, db, identity
from idsync.accounts.directory import Directory
from idsync.audit.events import COMMAND
from idsync.extension import EXTENSION
from idsync.signin.assembly import SignIn, SignInTables


class Clock:
    """The time of day, which a test moves."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += seconds


def amr(browser: FlaskClient) -> tuple[str, ...]:
    """How the person at this browser signed in."""
    with browser:
        browser.get("/")
        signed_in = identity.signed_in()
        assert signed_in is not None
        return signed_in.amr


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "time", clock)
    return clock


@pytest.fixture
def parts(app: Flask) -> Iterator[SignIn]:
    """The parts, inside an application context."""
    with app.app_context():
        yield app.extensions[EXTENSION].sign_in


@pytest.fixture
def tables() -> SignInTables:
    return identity._tables.sign_in


@pytest.fixture
def directory(parts: SignIn) -> Directory:
    return identity.directory


@pytest.fixture
def ada(directory: Directory) -> User:
    """A person with a password and a phone number."""
    record = directory.add(
        actor=COMMAND,
        name="Ada",
        email="ada@example.org",
        phone="+493012345678",
        password="correct horse",
    )
    db.session.commit()
    user: User = record.user
    return user
