"""Authorization requests that are refused: on a page, or back at the application."""

import secrets

import pytest
from flask import Flask
from flask.testing import FlaskClient

import hosting
from clients.flow import CHALLENGE, VERIFIER, answer, redeem
from flows.rows import execute


@pytest.mark.parametrize(
    "query",
    ["", "?client_id=app_unknown", "?client_id=app_unknown&redirect_uri=https://evil.example/"],
)
def test_an_unknown_application_is_shown_and_never_redirected(
    client: FlaskClient, query: str
) -> None:
    """The service's own page."""
    response = client.get("/oauth/authorize" + query)
    assert response.status_code == 400
    assert "Location" not in response.headers
    assert "not registered" in response.text
    assert "evil" not in response.text


def test_a_foreign_return_address_is_shown_and_never_redirected(
    app: Flask, client: FlaskClient
) -> None:
    """Exact match, trailing slash included; also when the request is otherwise wrong."""
    application = hosting.register_application(app)
    for uri in ("https://evil.example/", application.redirect_uri + "/", ""):
        for more in ({}, {"response_type": "token"}, {"prompt": "none"}):
            path = hosting.authorize_path(application, redirect_uri=uri, **more)
            response = client.get(path)
            assert response.status_code == 400
            assert "Location" not in response.headers


def test_an_inactive_application_is_refused_everywhere(app: Flask, client: FlaskClient) -> None:
    """Own page at authorize, 401 at token, 401 at userinfo."""
    person = hosting.add_person(app)
    application = hosting.register_application(app)
    code = answer(hosting.authorize(client, application, person))["code"]
    tokens = redeem(client, application, code).json
    execute(app, "UPDATE idsync_application SET active = false")
    assert client.get(hosting.authorize_path(application)).status_code == 400
    refused = redeem(client, application, code)
    assert (refused.status_code, refused.json["error"]) == (401, "invalid_client")
    assert refused.headers["WWW-Authenticate"].startswith("Basic")
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    assert client.get("/oauth/userinfo", headers=bearer).status_code == 401


def test_errors_of_the_request_travel_with_state_and_iss(app: Flask, client: FlaskClient) -> None:
    """Every one of them."""
    application = hosting.register_application(app)
    wrong = {
        "unsupported_response_type": {"response_type": "token"},
        "request_not_supported": {"request": "eyJ"},
        "request_uri_not_supported": {"request_uri": "https://app.example.org/r"},
        "invalid_request": {"code_challenge": "x"},
        "login_required": {"prompt": "none"},
    }
    for error, parameters in wrong.items():
        back = answer(client.get(hosting.authorize_path(application, **parameters)))
        assert back["error"] == error
        assert back["state"] == "state-1"
        assert back["iss"] == hosting.ISSUER


def test_a_pending_request_cannot_be_altered_or_kept(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signed with the time it was first seen; forged or left lying it is an expired page."""
    application = hosting.register_application(app)
    location = client.get(hosting.authorize_path(application)).headers["Location"]
    assert client.get(location + "A").status_code == 400
    assert client.get(location[:-1]).status_code == 400
    import time

    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3700)
    expired = client.get(location)
    assert expired.status_code == 400
    assert "expired" in expired.text


def test_a_public_application_needs_a_challenge(app: Flask, client: FlaskClient) -> None:
    """Refused at authorize already; with one it signs in by client_id alone."""
    person = hosting.add_person(app)
    application = hosting.register_application(app, "App", "--public")
    back = answer(client.get(hosting.authorize_path(application)))
    assert back["error"] == "invalid_request"
    code = answer(hosting.authorize(client, application, person, code_challenge=CHALLENGE))["code"]
    assert redeem(client, application, code).json["error"] == "invalid_request"
    assert redeem(client, application, code, code_verifier=VERIFIER).status_code == 200


def test_parameters_that_do_not_fit_together_are_a_page(app: Flask, client: FlaskClient) -> None:
    """A pending request travels in an address of at most 8 KiB."""
    long_address = f"https://app.example.org/{secrets.token_hex(980)}"
    application = hosting.register_application(app, redirect_uri=long_address)

    def noise(length: int) -> str:
        return "".join(chr(0x10000 + secrets.randbelow(0x20000)) for _ in range(length))

    response = client.get(hosting.authorize_path(application, state=noise(1536), scope=noise(1024)))
    assert response.status_code == 400
    assert "Location" not in response.headers
