"""What a thief gets, and does not get, as docs/security.md says it."""

import secrets
import time
from collections.abc import Mapping
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

import hosting
from account_api.calling import register
from host_app.models import db, identity
from idsync.crypto.keys import parse_keys
from idsync.oauth.grant import AccessToken, TokenReferences
from idsync.signin.links import Link, Links


def token_keys(app: Flask) -> tuple[bytes, ...]:
    return parse_keys("IDSYNC_TOKEN_KEYS", app.config["IDSYNC_TOKEN_KEYS"])


def rows(app: Flask, table: str) -> list[Mapping[str, Any]]:
    """What stands in a stolen database."""
    with app.app_context():
        found = db.session.execute(db.metadata.tables[table].select()).mappings().all()
        db.session.rollback()
        return list(found)


def userinfo(app: Flask, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return app.test_client().get("/oauth/userinfo", headers=headers).status_code


@pytest.fixture
def person(app: Flask) -> hosting.Person:
    return hosting.add_person(app)


@pytest.fixture
def tokens(app: Flask, person: hosting.Person) -> dict[str, Any]:
    """What an application has of a person."""
    with app.test_client() as browser:
        application = hosting.register_application(app)
        called_back = hosting.authorize(browser, application, person).headers["Location"]
        form = {
            "grant_type": "authorization_code",
            "code": called_back.partition("code=")[2].partition("&")[0],
            "redirect_uri": application.redirect_uri,
        }
        answer = browser.post("/oauth/token", data=form, auth=application.basic)
        return dict(answer.json, application=application.client_id)


def test_with_the_token_keys_an_old_token_becomes_a_new_one(
    app: Flask, tokens: dict[str, Any]
) -> None:
    """An id of 128 random bits is what is missing without one."""
    forged = TokenReferences(token_keys(app))
    grant_id = forged.read_access_token(tokens["access_token"]).grant_id
    later = int(time.time()) + 3600
    assert userinfo(app, forged.access_token(AccessToken(grant_id, later, None))) == 200
    guessed = AccessToken(secrets.token_bytes(len(grant_id)), later, None)
    assert userinfo(app, forged.access_token(guessed)) == 401


def test_a_stolen_database_is_worth_no_token(app: Flask, tokens: dict[str, Any]) -> None:
    """Ids of grants are there, the keys that sign them are not."""
    forged = TokenReferences((secrets.token_bytes(32),))
    (grant,) = rows(app, "idsync_grant")
    token = AccessToken(grant["id"], int(time.time()) + 3600, None)
    assert userinfo(app, forged.access_token(token)) == 401


@pytest.mark.parametrize("with_database", [True, False])
def test_database_and_token_keys_together_make_links_for_a_password(
    app: Flask, person: hosting.Person, with_database: bool
) -> None:
    """The epoch in the database is what the keys alone lack."""
    (account,) = rows(app, "idsync_account")
    epoch = account["epoch"] if with_database else secrets.token_bytes(8)
    forged = Links(token_keys(app), "new password").sign(Link(person.id, epoch, person.email))
    with app.test_request_context():
        assert identity.email.choose_password(forged, "the thief's words") is with_database
        db.session.rollback()


@pytest.mark.parametrize("with_database", [True, False])
def test_database_and_secret_key_together_make_a_session(
    app: Flask, client: FlaskClient, person: hosting.Person, with_database: bool
) -> None:
    """A cookie must name a living row."""
    hosting.sign_in(client, person)
    with client.session_transaction() as cookie:
        named = {**cookie}
    (row,) = rows(app, "idsync_session")
    assert named["_idsync_session"] == row["id"].hex()
    thief = app.test_client()
    if not with_database:
        named["_idsync_session"] = secrets.token_hex(16)
    with thief.session_transaction() as cookie:
        cookie.update(named)
    assert (thief.get("/security").status_code == 200) is with_database


def test_a_switched_off_application_s_tokens_stop_and_come_back(
    app: Flask, tokens: dict[str, Any]
) -> None:
    """Deactivating is at once, and no revocation."""
    for command, status in (("deactivate", 401), ("activate", 200)):
        hosting.run(app, "idsync", "application", command, tokens["application"])
        assert userinfo(app, tokens["access_token"]) == status


@pytest.mark.parametrize("second_factor", [False, True])
def test_a_breached_service_is_anybody_without_a_second_factor(
    app: Flask, client: FlaskClient, person: hosting.Person, second_factor: bool
) -> None:
    """It reads everybody's hash but an administrator's, and can set a password."""
    hosting.add_person(app, "Grace", "grace@example.org", "correct horse", "--administrator")
    if second_factor:
        hosting.sign_in(client, person)
        hosting.set_up_app(client)
    service = register(app)

    def hashes() -> dict[str, str | None]:
        listed = service.list().json["accounts"]
        return {one["email"]: one["password"] for one in listed}

    hosting.add_person(app, "Eve", "eve@example.org", "the thief's words")
    assert hashes()[person.email].startswith("pbkdf2$")
    assert hashes()["grace@example.org"] is None

    change = {"password": hashes()["eve@example.org"]}
    answer = service.call("POST", f"/api/service/accounts/{person.id}", json=change)
    assert answer.status_code == 200
    thief = app.test_client()
    hosting.sign_in(thief, person, password="the thief's words")
    assert (thief.get("/security").status_code == 200) is not second_factor
