"""The applications of docs/connect-an-application.md, which sign somebody in."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from flask import Flask

import hosting
from clients import connecting
from clients.flow import CHALLENGE, VERIFIER
from live import LiveHost, authorize, visit


@pytest.fixture
def wiki(service: LiveHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Flask:
    """The Flask application of the page."""
    text = connecting.section("A server")
    client = connecting.register(service, text)
    monkeypatch.setenv("SECRET_KEY", "only for this test")
    monkeypatch.setenv("CLIENT_ID", client.client_id)
    monkeypatch.setenv("CLIENT_SECRET", client.client_secret or "")
    (code,) = connecting.blocks(text, "python")
    names: dict[str, Any] = {"__name__": "wiki"}
    exec(code.replace(connecting.ISSUER, service.url), names)  # noqa: S102
    app = names["app"]
    assert isinstance(app, Flask)
    app.config.update(SERVER_NAME="wiki.example.org", PREFERRED_URL_SCHEME="https")
    return app


def test_the_server_signs_somebody_in_and_out(
    wiki: Flask, service: LiveHost, resident: hosting.Person, browser: requests.Session
) -> None:
    """Sign-in, callback, a greeting; sign-out at both."""
    with wiki.test_client() as visitor:
        away = visitor.get("/sign-in", base_url="https://wiki.example.org")
        called_back = authorize(browser, away.headers["Location"], resident)
        assert called_back.startswith("https://wiki.example.org/callback?")
        home = visitor.get(called_back, base_url="https://wiki.example.org", follow_redirects=True)
        assert f"Hello, {resident.name}" in home.text
        out = visitor.post("/sign-out", base_url="https://wiki.example.org")
        assert "Sign in" in visitor.get("/", base_url="https://wiki.example.org").text
        there = visit(browser, out.headers["Location"])
        assert there.headers["Location"] == "https://wiki.example.org/"


def test_the_server_shows_a_refusal(
    wiki: Flask, resident: hosting.Person, browser: requests.Session
) -> None:
    """Whoever says no is told so, and is not signed in."""
    with wiki.test_client() as visitor:
        away = visitor.get("/sign-in", base_url="https://wiki.example.org")
        called_back = authorize(browser, away.headers["Location"], resident, "deny")
        answer = visitor.get(called_back, base_url="https://wiki.example.org")
        assert (answer.status_code, "access_denied" in answer.text) == (403, True)


def test_the_requests_of_an_app_work_one_after_the_other(
    service: LiveHost, resident: hosting.Person, browser: requests.Session
) -> None:
    """Each address and each curl of the page, with what the one before gave."""
    text = connecting.section("A telephone")
    _, code_for_tokens, userinfo, refresh, revoke = connecting.blocks(text, "sh")
    open_this, called_with = (one.strip() for one in connecting.blocks(text, "text"))
    client = connecting.register(service, text)
    values = {
        "CLIENT_ID": client.client_id,
        "STATE": "state-1",
        "NONCE": "nonce-1",
        "CODE_VERIFIER": VERIFIER,
        "CODE_CHALLENGE": CHALLENGE,
    }

    def said(example: str) -> Any:
        done = subprocess.run(
            ["bash", "-c", example.replace(connecting.ISSUER, service.url)],
            env={**os.environ, **values},
            capture_output=True,
            check=True,
        )
        return json.loads(done.stdout)

    for name, value in sorted(values.items(), reverse=True):
        open_this = open_this.replace(f"${name}", value)
    address = open_this.replace(connecting.ISSUER, service.url)
    called_back = urlsplit(authorize(browser, address, resident))
    expected = urlsplit(called_with)
    assert (called_back.scheme, called_back.path) == (expected.scheme, expected.path)
    answered = {name: value for name, (value,) in parse_qs(called_back.query).items()}
    assert answered.keys() == parse_qs(expected.query).keys()
    assert (answered["state"], answered["iss"]) == ("state-1", service.url)

    values["CODE"] = answered["code"]
    tokens = said(code_for_tokens)
    (shown,) = connecting.blocks(text, "json")
    assert tokens.keys() == json.loads(shown).keys()
    values["ACCESS_TOKEN"] = tokens["access_token"]
    assert said(userinfo)["name"] == resident.name
    values["REFRESH_TOKEN"] = tokens["refresh_token"]
    values["REFRESH_TOKEN"] = said(refresh)["refresh_token"]
    assert said(revoke) == {}
    assert said(refresh)["error"] == "invalid_grant"
