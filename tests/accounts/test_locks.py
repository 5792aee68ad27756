"""Transactions that meet at one account lock in one order: the site's row, ours, the counter."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from flask import Flask

import hosting
from host_app.models import User, db, identity
from idsync.accounts.change import Change
from idsync.audit.events import COMMAND
from idsync.crypto.exchange import ExchangeHash

WEAK = str(ExchangeHash.create("secret", iterations=10_000))

Step = Callable[[User], None]


@pytest.fixture
def app(database_url: str) -> Iterator[Flask]:
    """A host that renews `WEAK` when somebody signs in with it."""
    app = hosting.make_host(database_url, IDSYNC_PBKDF2_ITERATIONS=11_000)
    yield app
    hosting.close_host(app)


def sign_in(user: User) -> None:
    assert identity.check_password(user, "secret")


def set_password(user: User) -> None:
    identity.set_password(user, "changed since")
    db.session.flush()


def nothing(user: User) -> None:
    pass


def note_last_login(user: User) -> None:
    user.created_at += timedelta(seconds=1)


def change_name(user: User) -> None:
    user.name = "Changed"


@pytest.mark.parametrize("first", [sign_in, set_password])
@pytest.mark.parametrize("then", [nothing, note_last_login, change_name])
def test_the_sites_transaction_and_a_change_by_a_service_do_not_deadlock(
    app: Flask, first: Step, then: Step
) -> None:
    """A password is renewed or replaced, the service's change waits, the site writes on."""
    with app.app_context():
        record = identity.directory.add(actor=COMMAND, name="Ada", verifier=WEAK)
        db.session.commit()
        subject, key = record.subject, record.account_key

    def change() -> None:
        with app.app_context():
            identity.directory.change(subject, Change(tags_add=("wiki",)), actor=COMMAND)
            db.session.commit()

    with app.app_context(), ThreadPoolExecutor(1) as thread:
        user = db.session.get(User, key)
        assert user is not None
        first(user)
        changing = thread.submit(change)
        time.sleep(0.1)  # until it waits for us
        then(user)
        db.session.commit()
        changing.result()
        found = identity.directory.find(subject)
        assert found is not None
        assert found.tags == {"wiki"}
