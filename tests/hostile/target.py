"""What hostile requests are aimed at, how they are sent byte for byte, and what every answer keeps.

The host runs in this process with TESTING on, so an exception that nobody expected reaches the test
instead of becoming a page with status 500.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote_from_bytes, urlsplit

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

import hosting

CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"  # RFC 7636, appendix B
FORM = "application/x-www-form-urlencoded"

# RFC 6749 §4.1.2.1 and §5.2: the characters an error_description may have.
DESCRIPTION = re.compile(r"[\x20-\x21\x23-\x5B\x5D-\x7E]*")

TOKEN_ERRORS = {
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
}
"""RFC 6749 §5.2."""

AUTHORIZATION_ERRORS = {
    "invalid_request",
    "unauthorized_client",
    "access_denied",
    "unsupported_response_type",
    "invalid_scope",
    "login_required",
    "consent_required",
    "interaction_required",
    "account_selection_required",
    "request_not_supported",
    "request_uri_not_supported",
}
"""RFC 6749 §4.1.2.1 and OpenID Connect Core §3.1.2.6, without the ones of a failing server."""

PAGES = ("/", "/sign-in", "/oauth/authorize", "/oauth/consent", "/logout")
DOCUMENTS = (
    "/oauth/jwks",
    "/.well-known/openid-configuration",
    "/.well-known/oauth-authorization-server",
)
MACHINE = ("/oauth/token", "/oauth/userinfo", "/oauth/revoke", *DOCUMENTS)


@dataclass(frozen=True)
class Target:
    """A host with a person, and applications that skip the consent page unless they prompt."""

    app: Flask
    person: hosting.Person
    application: hosting.Client
    public: hosting.Client

    def stranger(self) -> FlaskClient:
        """A program: sends no cookie that it was not told to send."""
        return self.app.test_client(use_cookies=False)

    def browser(self) -> FlaskClient:
        """A browser where the person is signed in."""
        client = self.app.test_client()
        assert hosting.sign_in(client, self.person).status_code == 303
        return client

    def new_code(self, browser: FlaskClient, application: hosting.Client | None = None) -> str:
        """A code that was not redeemed yet, bound to CHALLENGE."""
        path = hosting.authorize_path(application or self.application, code_challenge=CHALLENGE)
        location = browser.get(path).headers["Location"]
        return parse_qs(urlsplit(location).query)["code"][0]

    def new_tokens(self, browser: FlaskClient) -> dict[str, Any]:
        """The answer to the exchange of a code."""
        fields = self.code_fields(self.new_code(browser))
        response = browser.post("/oauth/token", data=fields)
        assert response.status_code == 200
        return dict(response.json)

    def code_fields(self, code: str) -> dict[str, str]:
        """A sound exchange, its client named in the body."""
        client_id, secret = self.application.basic
        return {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.application.redirect_uri,
            "code_verifier": VERIFIER,
            "client_id": client_id,
            "client_secret": secret,
        }

    def refresh_fields(self, refresh_token: str) -> dict[str, str]:
        """A sound refresh, its client named in the body."""
        client_id, secret = self.application.basic
        return {
            "grant_type": "refresh_token",
            "refresh_token": refresh_token,
            "scope": "openid",
            "client_id": client_id,
            "client_secret": secret,
        }


def send(
    client: FlaskClient,
    method: str,
    path: str,
    *,
    query: bytes = b"",
    body: bytes = b"",
    headers: Mapping[str, bytes] | None = None,
) -> TestResponse:
    """Send these very bytes, as a WSGI server hands them over (PEP 3333: decoded as Latin-1)."""
    environ = {
        "PATH_INFO": path.encode().decode("latin-1"),
        "QUERY_STRING": query.decode("latin-1"),
    }
    if body:
        environ["CONTENT_TYPE"] = FORM
    for name, value in (headers or {}).items():
        key = name.upper().replace("-", "_")
        key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
        environ[key] = value.decode("latin-1")
    return client.open(method=method, data=body, environ_overrides=environ)


def encoded(fields: Mapping[str, str | bytes | list[bytes]]) -> bytes:
    """A query or form body. Text is percent-encoded, bytes go as they are, a list is repeated."""
    pairs = []
    for name, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            raw = quote_from_bytes(one.encode(), safe="").encode() if isinstance(one, str) else one
            pairs.append(name.encode() + b"=" + raw)
    return b"&".join(pairs)


def check_decency(response: TestResponse, registered: str = hosting.REDIRECT_URI) -> None:
    """What every answer keeps: no failure, and no redirect to anybody else."""
    assert response.status_code < 500, response.text
    location = response.headers.get("Location")
    if location is not None:
        local = re.match(r"/(?![/\\])", location)
        assert local or location.startswith(f"{registered}?"), location
        assert location.isascii()
        assert location.isprintable()
    if location and location.startswith(registered):
        query = parse_qs(urlsplit(location).query, strict_parsing=True, errors="strict")
        assert all(len(values) == 1 for values in query.values())
        assert query["iss"] == [hosting.ISSUER]
        if "error" in query:
            assert query["error"][0] in AUTHORIZATION_ERRORS
            assert DESCRIPTION.fullmatch(query["error_description"][0])


def check_machine_answer(response: TestResponse, path: str) -> None:
    """What an answer of a machine endpoint keeps besides: JSON, CORS, and by RFC where it fails."""
    check_decency(response)
    assert "Location" not in response.headers
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in response.headers
    if response.request.method == "OPTIONS":
        assert response.status_code == 204
        assert "Authorization" in response.headers["Access-Control-Allow-Headers"]
        return
    assert response.mimetype == "application/json"
    if path not in DOCUMENTS or response.status_code != 200:
        assert response.headers["Cache-Control"] == "no-store"
    if response.status_code == 405:
        assert response.headers["Allow"]
    if response.status_code == 200 or response.request.method == "HEAD":
        return
    body = response.get_json()
    assert set(body) <= {"error", "error_description"}
    assert body["error"] in (TOKEN_ERRORS | {"invalid_token"})
    assert DESCRIPTION.fullmatch(body.get("error_description", "")), body
    challenge = response.headers.get("WWW-Authenticate", "")
    if path == "/oauth/userinfo" and response.status_code in (400, 401):
        assert challenge.startswith('Bearer realm="idsync"')
    if path == "/oauth/token":
        assert (body["error"] == "invalid_client") == (response.status_code == 401)
        assert challenge.startswith("Basic ") == (response.status_code == 401)
