"""Applications are told of an end that comes long after the sign-in, or after another one."""

import time

import pytest
from flask import Flask
from flask.testing import FlaskClient

import hosting
from backchannel.listening import deliver, notices, register
from clients.flow import tokens_of
from receiver import Receiver, read


def test_a_session_that_was_set_aside_is_told_of_when_the_account_ends(
    app: Flask, client: FlaskClient, listener: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is about to be locked out must not keep their sessions by leaving a sign-in page."""
    person = hosting.add_person(app)
    application = register(app, listener.url, scope="openid")
    tokens_of(client, application, person)
    hosting.follow(client, client.get(hosting.authorize_path(application, prompt="login")))
    later = time.time() + 3700
    monkeypatch.setattr(time, "time", lambda: later)
    hosting.run(app, "idsync", "account", "disable", person.id)
    assert deliver(app).startswith("1 logout tokens delivered")


def test_who_goes_on_after_a_sign_out_is_told_of_the_end_of_everything(
    app: Flask, client: FlaskClient, listener: Receiver
) -> None:
    """A refresh token outlives the sign-out that the application was told of."""
    person = hosting.add_person(app)
    application = register(app, listener.url, scope="openid offline_access")
    tokens_of(client, application, person)
    client.get("/logout")
    assert notices(app) == 1
    hosting.run(app, "idsync", "account", "disable", person.id)
    assert notices(app) == 2
    deliver(app)
    keys = client.get("/oauth/jwks").json
    claims = [read(token, keys).claims for token in listener.tokens()]
    # They are sent side by side, so either may be there first.
    assert sorted("sid" in one for one in claims) == [False, True]


def test_what_a_sign_out_ended_is_told_once(
    app: Flask, client: FlaskClient, listener: Receiver
) -> None:
    """Without a refresh token nothing goes on."""
    person = hosting.add_person(app)
    application = register(app, listener.url, scope="openid")
    tokens_of(client, application, person)
    client.get("/logout")
    hosting.run(app, "idsync", "account", "disable", person.id)
    assert notices(app) == 1
