"""Revocation: always 200 and `{}`, and what it ends."""

import logging
import time
from typing import Any
from unittest import mock

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text

import hosting
from flows.visits import signed_in_application
from host_app.models import db, identity


def revoke(client: FlaskClient, **form: Any) -> Any:
    response = client.post("/oauth/revoke", data=form)
    assert (response.status_code, response.json) == (200, {})
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    return response


def alive(client: FlaskClient, tokens: Any) -> bool:
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    return client.get("/oauth/userinfo", headers=bearer).status_code == 200


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_either_token_ends_the_grant_at_once(app: Flask, client: FlaskClient, kind: str) -> None:
    """Without authentication; userinfo and refresh fail from then on."""
    _, application, tokens = signed_in_application(app, client)
    revoke(client, token=tokens[kind])
    assert not alive(client, tokens)
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    answer = client.post("/oauth/token", data=form, auth=application.basic)
    assert answer.json["error"] == "invalid_grant"
    revoke(client, token=tokens[kind])


def test_an_old_refresh_token_ends_the_grant_too(app: Flask, client: FlaskClient) -> None:
    """Whoever holds one of any generation may sign the application out."""
    _, application, tokens = signed_in_application(app, client)
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    newer = client.post("/oauth/token", data=form, auth=application.basic).json
    revoke(client, token=tokens["refresh_token"])
    assert not alive(client, newer)


def test_what_is_no_living_token_changes_nothing(app: Flask, client: FlaskClient) -> None:
    """Unknown, expired, garbage, missing, oversized, a code, an id_token."""
    _, _, tokens = signed_in_application(app, client)
    for form in (
        {},
        {"token": ""},
        {"token": "nonsense"},
        {"token": tokens["access_token"] + "A"},
        {"token": tokens["id_token"]},
        {"token": "x" * 100_000},
        {"token_type_hint": "refresh_token"},
    ):
        revoke(client, **form)
    with mock.patch("time.time", return_value=time.time() + 3601):
        revoke(client, token=tokens["access_token"])
    assert alive(client, tokens)


@pytest.mark.parametrize(
    "how", ["basic", "wrong basic", "body", "bearer", "query", "both", "repeated"]
)
def test_clients_send_it_in_many_ways(app: Flask, client: FlaskClient, how: str) -> None:
    """Credentials of any kind are not looked at; the query counts as well."""
    _, application, tokens = signed_in_application(app, client)
    token = tokens["refresh_token"]
    answers = {
        "basic": lambda: client.post(
            "/oauth/revoke", data={"token": token}, auth=application.basic
        ),
        "wrong basic": lambda: client.post("/oauth/revoke", data={"token": token}, auth=("a", "b")),
        "body": lambda: client.post(
            "/oauth/revoke", data={"token": token, "client_id": "x", "client_secret": "y"}
        ),
        "bearer": lambda: client.post(
            "/oauth/revoke", data={"token": token}, headers={"Authorization": "Bearer x"}
        ),
        "query": lambda: client.post("/oauth/revoke", query_string={"token": token}),
        "both": lambda: client.post(
            "/oauth/revoke", query_string={"token": token}, data={"token": token}
        ),
        "repeated": lambda: client.post("/oauth/revoke", data={"token": [token, token]}),
    }
    response = answers[how]()
    assert (response.status_code, response.json) == (200, {})
    assert not alive(client, tokens)


def test_a_replay_is_recorded_and_logged_without_the_token(
    app: Flask, client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    """A security event with person and application; no log line at any level holds a token."""
    caplog.set_level(logging.DEBUG)
    person, application, tokens = signed_in_application(app, client)
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    newer = client.post("/oauth/token", data=form, auth=application.basic).json
    client.post("/oauth/token", data=form, auth=application.basic)
    with app.app_context():
        event = db.session.execute(
            text("SELECT subject, client_id FROM idsync_event WHERE kind = 'token replayed'")
        ).one()
    assert tuple(event) == (person.id, application.client_id)
    assert "replayed refresh token" in caplog.text
    secrets = [person.password, application.client_secret, *tokens.values(), *newer.values()]
    for secret in secrets:
        if isinstance(secret, str) and len(secret) > 12 and " " not in secret:
            assert secret not in caplog.text


def test_connected_applications_are_listed_and_disconnected(
    app: Flask, client: FlaskClient
) -> None:
    """What each may see, since when, last used; taking it back ends grants and consent."""
    person, application, tokens = signed_in_application(app, client)
    with app.app_context():
        user = identity.find_user(person.email)
        (connected,) = identity.connected_applications(user)
        assert (connected.client_id, connected.name) == (application.client_id, "Demo")
        assert set(connected.scopes) == {"openid", "profile", "email", "offline_access"}
        assert connected.last_used is not None
        assert connected.since <= connected.last_used <= time.time()
        identity.disconnect(user, application.client_id)
        assert identity.connected_applications(user) == []
    assert not alive(client, tokens)
    page = client.get(hosting.authorize_path(application))
    assert 'name="decision"' in page.text


def test_prune_deletes_only_what_can_never_matter(app: Flask, client: FlaskClient) -> None:
    """Unredeemed after ten minutes, ended ones after a day; living grants and sessions stay."""
    _, application, tokens = signed_in_application(app, client)
    client.get(hosting.authorize_path(application))  # a second grant, never redeemed
    assert hosting.run(app, "idsync", "prune").startswith("0 rows")
    with mock.patch("time.time", return_value=time.time() + 601):
        assert hosting.run(app, "idsync", "prune").startswith("1 rows")
    assert alive(client, tokens)
    revoke(client, token=tokens["access_token"])
    client.get("/logout")
    with mock.patch("time.time", return_value=time.time() + 86_500):
        assert hosting.run(app, "idsync", "prune").startswith("2 rows")
    with app.app_context():
        for table in ("idsync_grant", "idsync_session"):
            assert db.session.execute(text(f"SELECT count(*) FROM {table}")).scalar() == 0  # noqa: S608


def test_scopes_taken_from_an_application_are_delivered_no_more(
    app: Flask, client: FlaskClient
) -> None:
    """Not at userinfo, not at refresh; without offline_access there is no refresh at all."""
    _, application, tokens = signed_in_application(app, client)
    edit = ("idsync", "application", "edit", application.client_id, "--scope")
    hosting.run(app, *edit, "openid profile offline_access")
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    assert "email" not in client.get("/oauth/userinfo", headers=bearer).json
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    refreshed = client.post("/oauth/token", data=form, auth=application.basic).json
    assert refreshed["scope"] == "openid profile offline_access"
    hosting.run(app, *edit, "openid")
    form["refresh_token"] = refreshed["refresh_token"]
    refused = client.post("/oauth/token", data=form, auth=application.basic)
    assert refused.json["error"] == "invalid_grant"


def test_an_access_token_lives_an_hour_and_a_refresh_token_thirty_days(
    app: Flask, client: FlaskClient
) -> None:
    """The contract's numbers, to the second."""
    _, application, tokens = signed_in_application(app, client)
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    now = time.time()
    for after, status in ((3590, 200), (3601, 401)):
        with mock.patch("time.time", return_value=now + after):
            assert client.get("/oauth/userinfo", headers=bearer).status_code == status
    with mock.patch("time.time", return_value=now + 30 * 86_400 + 2):
        late = client.post("/oauth/token", data=form, auth=application.basic)
    assert late.json["error"] == "invalid_grant"
    with mock.patch("time.time", return_value=now + 30 * 86_400 - 10):
        assert client.post("/oauth/token", data=form, auth=application.basic).status_code == 200


def test_connected_applications_forget_what_a_new_epoch_ended(
    app: Flask, client: FlaskClient
) -> None:
    """A first-party application has no consent to be listed by."""
    person = hosting.add_person(app)
    application = hosting.register_application(app, "Ours", "--first-party")
    back = hosting.authorize(client, application, person)
    code = back.headers["Location"].split("code=")[1].split("&")[0]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": hosting.REDIRECT_URI}
    client.post("/oauth/token", data=form, auth=application.basic)
    with app.app_context():
        assert len(identity.connected_applications(identity.find_user(person.email))) == 1
    hosting.run(app, "idsync", "account", "sign-out", person.id)
    with app.app_context():
        assert identity.connected_applications(identity.find_user(person.email)) == []
