"""Changing one's password and signing out everywhere, by the pages."""

import time
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient

import hosting
from hosting import is_signed_in

NEW = {"new": "a new password", "again": "a new password"}


def test_a_new_password_counts_at_once_and_ends_what_was(
    app: Flask, client: FlaskClient, person: hosting.Person, elsewhere: FlaskClient
) -> None:
    """But for the browser in which it was changed."""
    assert hosting.submit(client, "/security/password", NEW).status_code == 303
    assert is_signed_in(client)
    assert not is_signed_in(elsewhere)
    assert hosting.sign_in(elsewhere, person).status_code == 422
    assert hosting.sign_in(elsewhere, person, password=NEW["new"]).status_code == 303


def test_two_factors_stay_two(client: FlaskClient, person: hosting.Person, app: Flask) -> None:
    """The session goes on by what it was made with."""
    made = hosting.set_up_app(client)
    assert hosting.submit(client, "/security/password", NEW).status_code == 303
    assert is_signed_in(client)
    other = app.test_client()
    hosting.sign_in(other, person, password=NEW["new"])
    assert not is_signed_in(other)
    hosting.submit(other, "/sign-in/second-factor", {"code": made.code()})
    assert is_signed_in(other)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"new": "", "again": ""}, "Please enter a new password."),
        ({"new": "short", "again": "short"}, "at least 8 characters"),
        ({"new": "a new password", "again": "another one"}, "are not the same"),
        ({"new": "x" * 1025, "again": "x" * 1025}, "longer than 1024 characters"),
    ],
)
def test_what_is_no_password_is_refused(
    client: FlaskClient, person: hosting.Person, fields: dict[str, str], complaint: str
) -> None:
    answer = hosting.submit(client, "/security/password", fields)
    assert answer.status_code == 422
    assert complaint in answer.text
    assert hosting.sign_in(client, person, address="/sign-in?next=/").status_code == 303


def test_an_old_sign_in_is_not_enough(
    client: FlaskClient, person: hosting.Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = time.time() + 601
    monkeypatch.setattr(time, "time", lambda: later)
    answer = client.get("/security/password")
    assert answer.headers["Location"].startswith("/sign-in?next=/security/password")


def test_signing_out_everywhere_ends_everything(
    app: Flask, client: FlaskClient, person: hosting.Person, elsewhere: FlaskClient
) -> None:
    """Browsers, this one too, and what applications hold."""
    application = hosting.register_application(app, "Ours", "--first-party")
    back = client.get(hosting.authorize_path(application)).headers["Location"]
    code = parse_qs(urlsplit(back).query)["code"][0]
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": application.redirect_uri,
    }
    tokens = client.post("/oauth/token", data=form, auth=application.basic).json
    assert tokens is not None
    answer = hosting.submit(client, "/security", {}, post_to="/security/sign-out-everywhere")
    assert answer.headers["Location"] == "/sign-in"
    assert not is_signed_in(client)
    assert not is_signed_in(elsewhere)
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    refused = client.post("/oauth/token", data=form, auth=application.basic)
    assert refused.status_code == 400
    assert refused.json is not None
    assert refused.json["error"] == "invalid_grant"
