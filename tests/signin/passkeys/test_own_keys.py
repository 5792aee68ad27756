"""One's own passkeys: they are added, removed, and stand in for what was lost."""

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text

import hosting
from authenticator import SecurityKey, encode
from host_app.models import db
from hosting import is_signed_in
from idsync import RecentSignInRequired
from idsync.accounts.record import AccountRecord
from signin.conftest import Clock
from signin.passkeys.keys import ORIGIN, add, options_on, sign_in_with


def test_a_passkey_removes_itself_and_the_app_stays(
    app: Flask, client: FlaskClient, person: hosting.Person
) -> None:
    """mfa follows the last factor."""
    key = SecurityKey(ORIGIN)
    add(client, key)
    hosting.set_up_app(client)
    remove = f"/security/passkeys/{encode(key.id)}/remove"
    answer = key.get(options_on(client, remove))
    assert hosting.submit(client, remove, {"answer": answer}).status_code == 303
    assert client.get(remove).status_code == 404
    shown = hosting.run(app, "idsync", "account", "show", person.id, "--json")
    assert shown["mfa"] is True


def test_adding_a_factor_is_no_new_sign_in(
    client: FlaskClient, person: object, clock: Clock
) -> None:
    """The ten minutes in which factors may be changed run from the last real proof."""
    clock.forward(400)
    assert add(client, SecurityKey(ORIGIN)) == 200
    clock.forward(201)
    answer = client.get("/security/passkeys/new")
    assert answer.headers["Location"].startswith("/sign-in")


def test_a_session_that_ends_meanwhile_adds_nothing(
    app: Flask, client: FlaskClient, person: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner changes the password while a thief adds a key to the account.

    That comes between the last look at the session and the lock of the account's row.
    """
    path, key = "/security/passkeys/new", SecurityKey(ORIGIN)
    answer = key.create(options_on(client, path))
    page = client.get(path)
    directory = app.extensions["idsync"].directory
    lock = directory.record

    def lock_too_late(subject: str) -> AccountRecord:
        db.session.rollback()
        with db.engine.begin() as connection:
            connection.execute(
                text("UPDATE idsync_account SET epoch = :epoch"), {"epoch": b"x" * 8}
            )
        record: AccountRecord = lock(subject)
        return record

    monkeypatch.setattr(directory, "record", lock_too_late)
    fields = {**hosting.hidden_fields(page.text), "answer": answer, "label": "x"}
    sent = client.post(path, data=fields)
    assert sent.headers["Location"].startswith("/sign-in")
    monkeypatch.undo()
    assert not sign_in_with(app.test_client(), key)


def test_a_host_that_does_not_answer_it_asks_to_sign_in_again(
    app: Flask, client: FlaskClient, person: object, clock: Clock
) -> None:
    """RecentSignInRequired has an answer of its own: the host's sign-in page."""
    del app.error_handler_spec[None][None][RecentSignInRequired]
    app.extensions["idsync"].sign_in.browser.connect(app)
    clock.forward(601)
    assert client.get("/security/passkeys/new").headers["Location"].startswith("/sign-in?next=")
    assert not is_signed_in(client)


def test_a_passkey_helps_who_lost_the_app(
    client: FlaskClient, person: object, other: FlaskClient
) -> None:
    """It removes the app, and makes new recovery codes."""
    hosting.set_up_app(client)
    key = SecurityKey(ORIGIN)
    assert add(client, key) == 303  # there are recovery codes already
    answer = key.get(options_on(client, "/security/recovery-codes"))
    made = hosting.submit(client, "/security/recovery-codes", {"answer": answer})
    assert len(re.findall(r"<li><code>", made.text)) == 10
    answer = key.get(options_on(client, "/security/app/remove"))
    assert hosting.submit(client, "/security/app/remove", {"answer": answer}).status_code == 303
    assert "Set up an authenticator app" in client.get("/security").text
    assert sign_in_with(other, key)


def test_a_passkey_made_for_one_account_is_not_kept_by_another(
    app: Flask, client: FlaskClient, person: object, other: FlaskClient
) -> None:
    """Nor one that somebody has already."""
    grace = hosting.add_person(app, "Grace", "grace@example.org", "compiler")
    hosting.sign_in(other, grace)
    path, key = "/security/passkeys/new", SecurityKey(ORIGIN)
    answer = key.create(options_on(client, path))
    fields = {"answer": answer, "label": "x"}
    assert hosting.submit(other, path, fields).status_code == 422
    assert hosting.submit(client, path, fields).status_code == 200
    assert add(other, key) == 422
    assert add(other, SecurityKey(ORIGIN), origin="https://evil.example") == 422


@pytest.mark.parametrize("label", ["", " ", "x" * 61, "right\u202eleft"])
def test_a_label_is_text(client: FlaskClient, person: object, label: str) -> None:
    assert add(client, SecurityKey(ORIGIN), label) == 422
