"""The audit log tells who signed in where, and who tried."""

from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text

import hosting
from host_app.models import db

ADDRESS = "198.51.100.7"


def events(app: Flask, kind: str) -> list[Any]:
    with app.app_context():
        rows = db.session.execute(
            text("SELECT * FROM idsync_event WHERE kind = :kind ORDER BY id"), {"kind": kind}
        )
        return list(rows)


def test_a_sign_in_and_a_grant_are_told(app: Flask) -> None:
    """Who, from which address, by what means, and at which application."""
    browser = app.test_client()
    browser.environ_base["REMOTE_ADDR"] = ADDRESS
    person, application = hosting.add_person(app), hosting.register_application(app)
    hosting.authorize(browser, application, person)
    (signed_in,) = events(app, "signed in")
    assert (signed_in.actor_kind, signed_in.actor, signed_in.address, signed_in.subject) == (
        *("person", person.id, ADDRESS),
        person.id,
    )
    assert "pwd" in str(signed_in.details)
    (granted,) = events(app, "grant issued")
    assert (granted.subject, granted.client_id) == (person.id, application.client_id)


def test_a_failed_sign_in_is_told_without_what_was_typed(app: Flask, client: FlaskClient) -> None:
    """Whose account it was for, where there is one; people type passwords into the wrong field."""
    person = hosting.add_person(app)
    hosting.sign_in(client, person, password="not mine")
    nobody = hosting.Person("", "", "nobody@example.org", "also not mine")
    hosting.sign_in(client, nobody)
    failed = events(app, "sign-in failed")
    assert [one.subject for one in failed] == [person.id, None]
    assert {one.actor_kind for one in failed} == {"visitor"}
    assert "mine" not in str(failed)
    assert "nobody" not in str(failed)
    assert events(app, "signed in") == []


def test_a_wrong_second_factor_is_a_failed_sign_in(app: Flask, client: FlaskClient) -> None:
    person = hosting.add_person(app)
    hosting.sign_in(client, person)
    hosting.set_up_app(client)
    other = app.test_client()
    hosting.sign_in(other, person)
    hosting.submit(other, "/sign-in/second-factor", {"code": "000000"})
    assert [one.subject for one in events(app, "sign-in failed")] == [person.id]
