"""Signing in and out at the reference host."""

from urllib.parse import quote

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text

import hosting
from host_app.models import db

WRONG = "The e-mail address or the password is wrong."


def test_the_right_password_signs_in(app: Flask, client: FlaskClient) -> None:
    person = hosting.add_person(app)
    answer = hosting.sign_in(client, person)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    page = client.get("/").text
    assert person.name in page
    assert person.email in page


def test_the_email_address_is_compared_without_case(app: Flask, client: FlaskClient) -> None:
    hosting.add_person(app, email="Ada@Example.org")
    fields = {"email": " aDA@example.ORG ", "password": "correct horse"}
    assert hosting.submit(client, "/sign-in", fields).status_code == 303


def test_whoever_cannot_sign_in_is_told_the_same(app: Flask, client: FlaskClient) -> None:
    """Unknown, mistyped and disabled: the answer gives nobody away."""
    hosting.add_person(app)
    disabled = hosting.add_person(app, "Grace Hopper", "grace@example.org")
    with app.app_context():
        statement = "UPDATE idsync_account SET disabled_by = 'administrator' WHERE subject = :id"
        db.session.execute(text(statement), {"id": disabled.id})
        db.session.commit()
    attempts = [
        {"email": "ada@example.org", "password": "wrong"},
        {"email": "nobody@example.org", "password": "correct horse"},
        {"email": "grace@example.org", "password": "correct horse"},
        {"email": "ada@example.org\0", "password": "correct horse"},
    ]
    answers = [hosting.submit(client, "/sign-in", attempt) for attempt in attempts]
    assert [answer.status_code for answer in answers] == [422] * len(attempts)
    assert all(WRONG in answer.text for answer in answers)
    assert "Your account" in client.get("/").text
    assert "You are signed in" not in client.get("/").text


def test_the_password_is_never_shown_again(app: Flask, client: FlaskClient) -> None:
    answer = hosting.submit(client, "/sign-in", {"email": "a@b.c", "password": "hunter2!"})
    assert 'value="a@b.c"' in answer.text
    assert "hunter2!" not in answer.text


def test_empty_fields_are_named(client: FlaskClient) -> None:
    answer = hosting.submit(client, "/sign-in", {"email": "", "password": ""})
    assert answer.status_code == 422
    assert "Please enter your e-mail address." in answer.text
    assert "Please enter your password." in answer.text


def test_the_form_tells_browsers_what_its_fields_are(client: FlaskClient) -> None:
    """Password managers and screen readers go by these attributes."""
    page = client.get("/sign-in").text
    for attribute in (
        'autocomplete="username"',
        'autocomplete="current-password"',
        'type="password"',
        'for="email"',
        'for="password"',
    ):
        assert attribute in page


def test_next_is_followed_within_this_site(app: Flask, client: FlaskClient) -> None:
    person = hosting.add_person(app)
    address = "/sign-in?next=" + quote("/oauth/authorize?pending=x&y", safe="")
    answer = hosting.sign_in(client, person, address=address)
    assert answer.headers["Location"] == "/oauth/authorize?pending=x&y"


@pytest.mark.parametrize("destination", ["//elsewhere.example", "https://elsewhere.example/"])
def test_next_never_leads_elsewhere(app: Flask, client: FlaskClient, destination: str) -> None:
    person = hosting.add_person(app)
    address = "/sign-in?next=" + quote(destination, safe="")
    assert hosting.sign_in(client, person, address=address).headers["Location"] == "/"


def test_somebody_signed_in_is_not_asked_again(app: Flask, client: FlaskClient) -> None:
    hosting.sign_in(client, hosting.add_person(app))
    answer = client.get("/sign-in")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")


def test_somebody_signed_in_may_be_asked_again_on_the_way_somewhere(
    app: Flask, client: FlaskClient
) -> None:
    """As when another person sits at the same browser."""
    hosting.sign_in(client, hosting.add_person(app))
    other = hosting.add_person(app, "Grace Hopper", "grace@example.org")
    answer = hosting.sign_in(client, other, address="/sign-in?next=/")
    assert answer.status_code == 303
    assert "Grace Hopper" in client.get("/").text


def test_signing_out_ends_the_session(app: Flask, client: FlaskClient) -> None:
    hosting.sign_in(client, hosting.add_person(app))
    stolen = client.get_cookie("identity_session")
    assert stolen is not None
    answer = hosting.submit(client, "/", {}, post_to="/sign-out")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    assert "You are signed in" not in client.get("/").text
    client.set_cookie("identity_session", stolen.value)
    assert "You are signed in" not in client.get("/").text


def test_another_site_cannot_sign_anybody_out(app: Flask, client: FlaskClient) -> None:
    hosting.sign_in(client, hosting.add_person(app))
    assert client.post("/sign-out").status_code == 400
    assert client.get("/sign-out").status_code == 405
    assert "You are signed in" in client.get("/").text


def test_a_form_without_its_token_offers_a_way_on(app: Flask, client: FlaskClient) -> None:
    answer = client.post("/sign-in?next=/a", data={"email": "a@b.c", "password": "x"})
    assert answer.status_code == 400
    assert "This page has expired" in answer.text
    assert 'href="/sign-in?next=/a"' in answer.text


def test_a_whole_sign_in_at_an_application(app: Flask, client: FlaskClient) -> None:
    person = hosting.add_person(app)
    application = hosting.register_application(app)
    answer = hosting.authorize(client, application, person)
    assert answer.headers["Location"].startswith(hosting.REDIRECT_URI + "?code=ac_")
