"""Which applications hear that a session has ended, and what they hear."""

import time
from typing import Any
from unittest import mock

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text

import hosting
from backchannel.listening import deliver, notices, register
from clients.flow import answer, refresh, token_of, tokens_of
from host_app.models import User, db, identity
from receiver import Receiver, read, receiver

EVENTS = {"http://schemas.openid.net/event/backchannel-logout": {}}


def test_a_logout_token_has_exactly_the_claims_of_the_specification(
    app: Flask, client: FlaskClient, listener: Receiver
) -> None:
    """Back-Channel Logout 1.0 §2.4 and §2.5: one signed token, in a form, of its own type."""
    person = hosting.add_person(app)
    application = register(app, listener.url, "--id-token-alg", "ES256")
    id_token = token_of(client, tokens_of(client, application, person)["id_token"])
    client.get("/logout")
    assert deliver(app) == "1 logout tokens delivered, 0 not taken.\n"
    ((method, path, headers, body),) = listener.requests
    assert (method, path) == ("POST", "/logged-out?a=1")
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert body.startswith("logout_token=")
    token = read(listener.tokens()[0], client.get("/oauth/jwks").json)
    assert token.header == {"alg": "ES256", "typ": "logout+jwt", "kid": id_token.header["kid"]}
    claims = token.claims
    assert set(claims) == {"iss", "aud", "iat", "exp", "jti", "events", "sub", "sid"}
    for name in ("iss", "aud", "sub", "sid"):
        assert claims[name] == id_token.claims[name]
    assert claims["events"] == EVENTS
    assert time.time() - 60 < claims["iat"] <= time.time() + 5 < claims["exp"]
    assert claims["exp"] - claims["iat"] <= 120
    assert len(claims["jti"]) >= 22
    assert deliver(app) == "0 logout tokens delivered, 0 not taken.\n"


def test_a_logout_token_passes_nowhere_as_an_id_token(
    app: Flask, client: FlaskClient, listener: Receiver
) -> None:
    """It is signed with the same keys, and was seen by an application."""
    person = hosting.add_person(app)
    application = register(app, listener.url)
    tokens_of(client, application, person)
    client.get("/logout")
    deliver(app)
    hosting.sign_in(client, person)
    (token,) = listener.tokens()
    assert client.get("/logout", query_string={"id_token_hint": token}).status_code == 400
    path = hosting.authorize_path(application, id_token_hint=token)
    assert answer(client.get(path))["error"] == "invalid_request"


def leave_by_logout(app: Flask, client: FlaskClient, person: hosting.Person) -> None:
    client.get("/logout")


def leave_by_the_host(app: Flask, client: FlaskClient, person: hosting.Person) -> None:
    hosting.submit(client, "/", {}, post_to="/sign-out")


def leave_everywhere(app: Flask, client: FlaskClient, person: hosting.Person) -> None:
    hosting.submit(client, "/security", {}, post_to="/security/sign-out-everywhere")


def leave_by_command(app: Flask, client: FlaskClient, person: hosting.Person) -> None:
    hosting.run(app, "idsync", "account", "sign-out", person.id)


def be_disabled(app: Flask, client: FlaskClient, person: hosting.Person) -> None:
    hosting.run(app, "idsync", "account", "disable", person.id)


def change_the_password(app: Flask, client: FlaskClient, person: hosting.Person) -> None:
    fields = {"new": "another long one", "again": "another long one"}
    assert hosting.submit(client, "/security/password", fields).status_code == 303


def be_given_a_password(app: Flask, client: FlaskClient, person: hosting.Person) -> None:
    edit = ("idsync", "account", "edit", person.id, "--password-stdin")
    hosting.run(app, *edit, input="another long one\n")


def be_erased(app: Flask, client: FlaskClient, person: hosting.Person) -> None:
    hosting.run(app, "idsync", "account", "erase", person.id, "--yes")


def be_deleted_by_the_host(app: Flask, client: FlaskClient, person: hosting.Person) -> None:
    with app.app_context():
        db.session.delete(db.session.query(User).filter_by(email=person.email).one())
        db.session.commit()


def lose_the_factors(app: Flask, client: FlaskClient, person: hosting.Person) -> None:
    hosting.run(app, "idsync", "account", "reset-factors", person.id)


def give_way_to_somebody(app: Flask, client: FlaskClient, person: hosting.Person) -> None:
    eve = hosting.add_person(app, "Eve", "eve@example.org", "pass word")
    hosting.sign_in(client, eve, address="/sign-in?next=/")


@pytest.mark.parametrize(
    "leave",
    [
        leave_by_logout,
        leave_by_the_host,
        leave_everywhere,
        leave_by_command,
        be_disabled,
        change_the_password,
        be_given_a_password,
        be_erased,
        be_deleted_by_the_host,
        lose_the_factors,
        give_way_to_somebody,
    ],
)
@pytest.mark.parametrize("options", [(), ("--backchannel-logout-session-required",)])
def test_whatever_ends_a_session_is_told_once(
    app: Flask, client: FlaskClient, listener: Receiver, leave: Any, options: tuple[str, ...]
) -> None:
    """To the applications of that session that have an address; not to those of other people."""
    person = hosting.add_person(app)
    stranger = hosting.add_person(app, "Bob", "bob@example.org", "pass word")
    application = register(app, listener.url, *options)
    silent = hosting.register_application(app, "Without an address", "--first-party")
    sid = token_of(client, tokens_of(client, application, person)["id_token"]).claims["sid"]
    tokens_of(client, silent, person)
    tokens_of(app.test_client(), application, stranger)
    leave(app, client, person)
    deliver(app)
    (token,) = listener.tokens()
    claims = read(token, client.get("/oauth/jwks").json).claims
    assert claims["sub"] == person.id
    of_this_session = options or leave in (leave_by_logout, leave_by_the_host, give_way_to_somebody)
    assert claims.get("sid") == (sid if of_this_session else None)


def test_all_sessions_end_in_one_token_or_in_one_each(
    app: Flask, client: FlaskClient, listener: Receiver
) -> None:
    """As the application registered: without `sid` it means every session of the person."""
    person = hosting.add_person(app)
    with receiver() as strict:
        applications = [
            register(app, listener.url),
            register(app, strict.url, "--backchannel-logout-session-required"),
        ]
        sids = set()
        for browser in (client, app.test_client()):
            for application in applications:
                tokens = tokens_of(browser, application, person)
                sids.add(token_of(client, tokens["id_token"]).claims["sid"])
        hosting.run(app, "idsync", "account", "sign-out", person.id)
        deliver(app)
        jwks = client.get("/oauth/jwks").json
        (alone,) = [read(token, jwks).claims for token in listener.tokens()]
        assert "sid" not in alone
        assert len(sids) == 2
        assert {read(token, jwks).claims["sid"] for token in strict.tokens()} == sids
        assert len(strict.tokens()) == 2


def test_a_code_that_was_never_exchanged_is_nobody_s_session(
    app: Flask, client: FlaskClient, listener: Receiver
) -> None:
    """Once it is dead; a living one may be exchanged while the person signs out."""
    person = hosting.add_person(app)
    application = register(app, listener.url)
    hosting.authorize(client, application, person)
    with mock.patch("time.time", return_value=time.time() + 61):
        client.get("/logout")
        assert notices(app) == 0
    hosting.authorize(client, application, person)
    client.get("/logout")
    assert notices(app) == 1


def test_an_application_that_is_switched_off_is_not_told(
    app: Flask, client: FlaskClient, listener: Receiver
) -> None:
    application = register(app, listener.url)
    tokens_of(client, application, hosting.add_person(app))
    hosting.run(app, "idsync", "application", "deactivate", application.client_id)
    client.get("/logout")
    assert notices(app) == 0


def test_a_change_that_is_rolled_back_tells_nobody(
    app: Flask, client: FlaskClient, listener: Receiver
) -> None:
    """The rows are part of the transaction that ends the sessions."""
    person = hosting.add_person(app)
    tokens_of(client, register(app, listener.url), person)
    with app.app_context():
        identity.set_password(identity.find_user(person.email), "another long one")
        db.session.flush()
        found = db.session.execute(text("SELECT count(*) FROM idsync_logout")).scalar_one()
        assert found == 1
        db.session.rollback()
    assert notices(app) == 0


def test_the_application_s_name_of_a_session_stays_when_the_person_signs_in_again(
    app: Flask, client: FlaskClient, listener: Receiver
) -> None:
    """Another application asked for it; this one knows the first `sid`, at refresh as well."""
    person = hosting.add_person(app)
    application = register(app, listener.url)
    other = hosting.register_application(app, "Other", "--first-party")
    tokens = tokens_of(client, application, person)
    sid = token_of(client, tokens["id_token"]).claims["sid"]
    hosting.authorize(client, other, person, prompt="login")
    tokens = refresh(client, application, tokens["refresh_token"])
    assert token_of(client, tokens["id_token"]).claims["sid"] == sid
    client.get("/logout")
    deliver(app)
    (token,) = listener.tokens()
    assert read(token, client.get("/oauth/jwks").json).claims["sid"] == sid


def test_a_grant_from_before_there_was_such_a_column_has_the_session_it_belongs_to(
    app: Flask, client: FlaskClient, listener: Receiver
) -> None:
    """A site that made the column without filling it."""
    person = hosting.add_person(app)
    application = register(app, listener.url)
    tokens = tokens_of(client, application, person)
    with app.app_context():
        db.session.execute(text("UPDATE idsync_grant SET issued_session_id = NULL"))
        db.session.commit()
    sid = token_of(client, tokens["id_token"]).claims["sid"]
    tokens = refresh(client, application, tokens["refresh_token"])
    assert token_of(client, tokens["id_token"]).claims["sid"] == sid
    with mock.patch("time.time", return_value=time.time() + 10 * 86_400):
        hosting.run(app, "idsync", "prune")
        client.get("/logout")
        deliver(app)
    (token,) = listener.tokens()
    assert read(token, client.get("/oauth/jwks").json).claims["sid"] == sid


def test_a_stolen_cookie_cannot_make_the_service_send_again_and_again(
    app: Flask, client: FlaskClient, listener: Receiver
) -> None:
    """A session that ended has been told of."""
    person = hosting.add_person(app)
    tokens_of(client, register(app, listener.url), person)
    cookie = client.get_cookie(app.config["SESSION_COOKIE_NAME"])
    assert cookie is not None
    for _ in range(3):
        thief = app.test_client()
        thief.set_cookie(app.config["SESSION_COOKIE_NAME"], cookie.decoded_value)
        thief.get("/logout")
    client.get("/logout")
    assert notices(app) == 1


def test_pruning_keeps_what_a_living_session_still_needs(
    app: Flask, client: FlaskClient, listener: Receiver
) -> None:
    """The access token is long dead; the application's own session may not be."""
    person = hosting.add_person(app)
    application = register(app, listener.url)
    silent = hosting.register_application(app, "Without an address", "--first-party")
    for one in (application, application, silent):  # some applications sign in again and again
        tokens_of(client, one, person, scope="openid")
    with mock.patch("time.time", return_value=time.time() + 10 * 86_400):
        hosting.run(app, "idsync", "prune")
        with app.app_context():
            kept = db.session.execute(text("SELECT client_id FROM idsync_grant")).scalars().all()
            assert kept == [application.client_id]
        client.get("/logout")
        deliver(app)
        assert len(listener.tokens()) == 1
    with mock.patch("time.time", return_value=time.time() + 12 * 86_400):
        hosting.run(app, "idsync", "prune")
        assert notices(app) == 0
