"""Native applications (RFC 8252): private-use and loopback addresses, no secret, PKCE."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient

import hosting
from clients.flow import CHALLENGE, VERIFIER

ADDRESSES = [
    "org.example.app:/callback",
    "org.example.app://callback",
    "http://127.0.0.1:49152/callback",
    "http://[::1]:49152/callback",
]


@pytest.fixture(params=ADDRESSES)
def native(request: pytest.FixtureRequest, app: Flask) -> hosting.Client:
    return hosting.register_application(app, "Native", "--public", redirect_uri=request.param)


@pytest.fixture
def person(app: Flask) -> hosting.Person:
    return hosting.add_person(app)


def authorize(client: FlaskClient, native: hosting.Client, person: hosting.Person) -> str:
    return str(
        hosting.authorize(client, native, person, code_challenge=CHALLENGE).headers["Location"]
    )


def exchange(client: FlaskClient, native: hosting.Client, code: str, **more: str) -> Any:
    form = {
        "grant_type": "authorization_code",
        "client_id": native.client_id,
        "redirect_uri": native.redirect_uri,
        "code": code,
        **more,
    }
    return client.post("/oauth/token", data=form)


def test_a_native_application_signs_somebody_in(
    client: FlaskClient, native: hosting.Client, person: hosting.Person
) -> None:
    """Its address comes back character for character; tokens, refresh and userinfo follow."""
    address, _, query = authorize(client, native, person).partition("?")
    assert address == native.redirect_uri
    answer = parse_qs(query)
    assert set(answer) == {"code", "state", "iss"}
    tokens = exchange(client, native, answer["code"][0], code_verifier=VERIFIER).json
    form = {
        "grant_type": "refresh_token",
        "client_id": native.client_id,
        "refresh_token": tokens["refresh_token"],
    }
    tokens = client.post("/oauth/token", data=form).json
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    assert client.get("/oauth/userinfo", headers=bearer).json["sub"] == person.id


def test_a_program_that_caught_the_code_has_nothing(
    client: FlaskClient, native: hosting.Client, person: hosting.Person
) -> None:
    """Any program may claim such an address (RFC 8252 §8.1); only one has the verifier."""
    query = urlsplit(authorize(client, native, person)).query
    code = parse_qs(query)["code"][0]
    assert exchange(client, native, code).json["error"] == "invalid_request"
    wrong = exchange(client, native, code, code_verifier=VERIFIER[::-1])
    assert wrong.json["error"] == "invalid_grant"
    assert exchange(client, native, code, code_verifier=VERIFIER).status_code == 200


def test_the_page_names_what_a_person_can_recognise(
    client: FlaskClient, native: hosting.Client, person: hosting.Person
) -> None:
    """The host of a loopback address, the scheme of a private-use one."""
    hosting.sign_in(client, person)
    path = hosting.authorize_path(native, code_challenge=CHALLENGE)
    page = client.get(path).text
    parts = urlsplit(native.redirect_uri)
    shown = parts.hostname if parts.scheme == "http" else parts.hostname or parts.scheme
    assert f"go on to {shown}." in page


def test_a_loopback_address_has_the_registered_port(
    app: Flask, client: FlaskClient, person: hosting.Person
) -> None:
    """Exact match, as the contract says; a program registers the port that it opens."""
    registered = "http://127.0.0.1:49152/callback"
    native = hosting.register_application(app, "Native", "--public", redirect_uri=registered)
    for other in ("http://127.0.0.1:49153/callback", "http://localhost:49152/callback"):
        path = hosting.authorize_path(native, redirect_uri=other, code_challenge=CHALLENGE)
        refused = client.get(path)
        assert refused.status_code == 400
        assert "Location" not in refused.headers


def test_an_error_reaches_a_native_application_too(
    client: FlaskClient, native: hosting.Client
) -> None:
    """At its address, with state and iss."""
    silent = hosting.authorize_path(native, prompt="none", code_challenge=CHALLENGE)
    address, _, query = client.get(silent).headers["Location"].partition("?")
    assert address == native.redirect_uri
    assert parse_qs(query)["error"] == ["login_required"]
    assert parse_qs(query)["iss"] == [hosting.ISSUER]
