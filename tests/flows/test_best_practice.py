"""What RFC 9700 asks for and no other test has; docs/security.md has the whole list."""

import re
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

import hosting
from clients.flow import CHALLENGE, VERIFIER, answer, code_form, get_code, tokens_of

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def person(app: Flask) -> hosting.Person:
    return hosting.add_person(app)


@pytest.fixture
def application(app: Flask) -> hosting.Client:
    return hosting.register_application(app)


def test_every_test_that_the_security_page_names_exists() -> None:
    """A row without its test would be a claim."""
    page = (REPOSITORY / "docs/security.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| §.*\| `(tests/\S+\.py)::(test_\w+)` \|$", page, re.MULTILINE)
    assert len(named) == page.count("\n| §") > 30
    for file, test in named:
        source = (REPOSITORY / file).read_text(encoding="utf-8")
        assert f"def {test}(" in source, f"{file}::{test}"


@pytest.mark.parametrize("response_type", ["token", "id_token", "id_token token", "code id_token"])
def test_no_token_travels_through_the_browser(
    client: FlaskClient, application: hosting.Client, response_type: str
) -> None:
    """§2.1.2: the implicit grant and its relatives do not exist."""
    path = hosting.authorize_path(application, response_type=response_type, nonce="n")
    assert answer(client.get(path))["error"] == "unsupported_response_type"


@pytest.mark.parametrize("grant_type", ["password", "client_credentials", "implicit"])
def test_no_application_asks_for_passwords_or_acts_for_itself(
    client: FlaskClient, application: hosting.Client, person: hosting.Person, grant_type: str
) -> None:
    """§2.4 and §4.15: every token is a person's, who signed in at the service."""
    form = {"grant_type": grant_type, "username": person.email, "password": person.password}
    refused = client.post("/oauth/token", data=form, auth=application.basic)
    assert refused.json["error"] == "unsupported_grant_type"


def test_a_redirect_never_repeats_what_was_posted(
    client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """§4.12: after a 307 the browser would post the password to the application."""
    page = hosting.follow(client, client.get(hosting.authorize_path(application)))
    seen = [hosting.sign_in(client, person, address=page.request.full_path)]
    consent = hosting.follow(client, seen[0])
    seen.append(hosting.decide(client, consent.request.full_path))
    path, _, query = hosting.authorize_path(application).partition("?")
    seen.append(client.post(path, data=dict(parse_qsl(query))))
    seen.append(client.post("/logout", data={"state": "x"}))
    assert [response.status_code for response in seen] == [303, 303, 303, 303]


def test_a_code_and_its_answer_are_in_no_cache(
    client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """§4.2 and §4.3: neither the redirect with the code nor the tokens."""
    back: TestResponse = hosting.authorize(client, application, person)
    assert back.headers["Cache-Control"] == "no-store"
    assert back.headers["Referrer-Policy"] == "same-origin"
    form = code_form(application, answer(back)["code"])
    tokens = client.post("/oauth/token", data=form, auth=application.basic)
    assert tokens.headers["Cache-Control"] == "no-store"


def test_a_code_is_worth_nothing_in_another_s_request(
    app: Flask, client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """§4.5: a code injected into a stranger's session fails on the verifier of that session."""
    victim = get_code(client, application, person, code_challenge=CHALLENGE)
    form = {**code_form(application, victim), "code_verifier": VERIFIER[::-1]}
    injected = client.post("/oauth/token", data=form, auth=application.basic)
    assert injected.json["error"] == "invalid_grant"


def test_a_verifier_without_a_challenge_is_refused(
    client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """§4.8.2: whoever removed the challenge from the request gains nothing."""
    form = code_form(application, get_code(client, application, person))
    refused = client.post(
        "/oauth/token", data={**form, "code_verifier": VERIFIER}, auth=application.basic
    )
    assert refused.json["error"] == "invalid_request"


def test_an_access_token_is_good_for_userinfo_alone(
    app: Flask, client: FlaskClient, person: hosting.Person
) -> None:
    """§2.3: not for the account API, not for signing in, not as a refresh token or a code."""
    application = hosting.register_application(app, "Service", "--accounts")
    token = tokens_of(client, application, person)["access_token"]
    bearer = {"Authorization": f"Bearer {token}"}
    for path in ("/api/service/accounts", "/api/services"):
        assert client.get(path, headers=bearer).status_code == 401
    for form in (
        {"grant_type": "refresh_token", "refresh_token": token},
        code_form(application, token),
    ):
        refused = client.post("/oauth/token", data=form, auth=application.basic)
        assert refused.json["error"] == "invalid_grant"
    stranger = app.test_client()
    assert stranger.get("/security", headers=bearer).status_code == 302
