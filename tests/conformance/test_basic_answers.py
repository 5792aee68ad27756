"""The basic certification plan, second part: tokens, userinfo, request objects, codes used twice.

Each test has the name of a module of the suite and asks what that module does.
"""

import json
import time
from unittest import mock

import pytest
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from werkzeug.test import TestResponse

from conformance.suite import Suite, unsigned


def test_oidcc_idtoken_signature(suite: Suite) -> None:
    """By a published key that the header names; an altered token does not verify."""
    tokens, _ = suite.sign_in()
    head, body, signature = tokens["id_token"].split(".")
    forged = f"{head}.{body}.{'A' * len(signature)}"
    keys = KeySet.import_key_set(suite.server.get("/oauth/jwks").json)
    with pytest.raises(JoseError):
        jwt.decode(forged, keys, algorithms=["RS256", "ES256"])


def test_oidcc_idtoken_unsigned(suite: Suite) -> None:
    """Never: `none` is not supported, and no client can be registered with it."""
    assert "none" not in suite.metadata["id_token_signing_alg_values_supported"]
    edit = ("idsync", "application", "edit", suite.client.client_id, "--id-token-alg", "none")
    assert suite.app.test_cli_runner().invoke(args=edit).exit_code == 2


def test_oidcc_userinfo_get(suite: Suite) -> None:
    tokens, claims = suite.sign_in()
    assert suite.userinfo(tokens)["sub"] == claims["sub"]


def test_oidcc_userinfo_post_header(suite: Suite) -> None:
    tokens, _ = suite.sign_in()
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    suite.checked_userinfo(suite.server.post("/oauth/userinfo", headers=bearer))


def test_oidcc_userinfo_post_body(suite: Suite) -> None:
    tokens, _ = suite.sign_in()
    form = {"access_token": tokens["access_token"]}
    suite.checked_userinfo(suite.server.post("/oauth/userinfo", data=form))


def test_oidcc_server_client_secret_post(suite: Suite) -> None:
    """The secret in the body of the token request."""
    assert "client_secret_post" in suite.metadata["token_endpoint_auth_methods_supported"]
    request = suite.request()
    form = {
        "grant_type": "authorization_code",
        "code": suite.authorize(request)["code"],
        "redirect_uri": suite.client.redirect_uri,
        "client_id": suite.client.client_id,
        "client_secret": suite.client.client_secret,
    }
    tokens = suite.tokens(suite.server.post("/oauth/token", data=form))
    suite.claims(tokens, request["nonce"])


def assert_refused_code(answer: TestResponse) -> None:
    assert answer.status_code == 400
    assert answer.mimetype == "application/json"
    assert answer.json["error"] == "invalid_grant"
    assert answer.json.keys() <= {"error", "error_description"}


def use_twice(suite: Suite, *, after: float) -> None:
    code = suite.authorize(suite.request())["code"]
    tokens = suite.tokens(suite.redeem(code))
    suite.userinfo(tokens)
    with mock.patch("time.time", return_value=time.time() + after):
        assert_refused_code(suite.redeem(code))
        bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
        refused = suite.server.get("/oauth/userinfo", headers=bearer)
    assert refused.status_code == 401
    assert 'error="invalid_token"' in refused.headers["WWW-Authenticate"]


def test_oidcc_codereuse(suite: Suite) -> None:
    """invalid_grant at once, and the first answer's token ends (RFC 6749 §4.1.2)."""
    use_twice(suite, after=0)


def test_oidcc_codereuse_30seconds(suite: Suite) -> None:
    """The same half a minute later."""
    use_twice(suite, after=30)


def test_oidcc_request_uri_unsigned(suite: Suite) -> None:
    """Not supported, and discovery says so: its own error, nothing fetched."""
    assert suite.metadata["request_uri_parameter_supported"] is False
    request = suite.request(request_uri="https://app.example.org/request.jwt")
    answer = suite.called_back(suite.address(request), request)
    assert answer["error"] == "request_uri_not_supported"


def test_oidcc_unsigned_request_object_supported_correctly_or_rejected_as_unsupported(
    suite: Suite,
) -> None:
    """The latter."""
    assert suite.metadata["request_parameter_supported"] is False
    request = suite.request()
    request["request"] = unsigned(request)
    answer = suite.called_back(suite.address(request), request)
    assert answer["error"] == "request_not_supported"


def test_oidcc_ensure_request_object_with_redirect_uri(suite: Suite) -> None:
    """With another address outside the object, that one is judged: our page, and no redirect."""
    request = suite.request()
    request["request"] = unsigned(request)
    page = suite.address({**request, "redirect_uri": "https://app.example.org/other"})
    assert page.status_code == 400
    assert "Location" not in page.headers


def test_oidcc_claims_essential(suite: Suite) -> None:
    """Not supported, and discovery says so: ignored; the suite warns that there is no name."""
    assert suite.metadata["claims_parameter_supported"] is False
    wanted = json.dumps({"userinfo": {"name": {"essential": True}}})
    tokens, _ = suite.sign_in(claims=wanted)
    assert set(suite.userinfo(tokens)) == {"sub"}


def test_oidcc_refresh_token(suite: Suite) -> None:
    """A new id_token for the same sign-in; the token belongs to its client alone."""
    assert "offline_access" in suite.metadata["scopes_supported"]
    assert "refresh_token" in suite.metadata["grant_types_supported"]
    request = suite.request(scope="openid offline_access", prompt="consent")
    tokens, first = suite.finish(suite.authorize(request), request)
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    assert all(0x20 <= ord(character) <= 0x7E for character in tokens["refresh_token"])
    stolen = suite.server.post("/oauth/token", data=form, auth=suite.second_client.basic)
    assert_refused_code(stolen)
    with mock.patch("time.time", return_value=time.time() + 1):  # as long as the suite waits
        answer = suite.server.post("/oauth/token", data=form, auth=suite.client.basic)
    refreshed = suite.tokens(answer)
    second = suite.claims(refreshed)
    for name in ("iss", "sub", "aud", "auth_time"):
        assert second[name] == first[name]
    assert refreshed["access_token"] != tokens["access_token"]
    suite.userinfo(refreshed)
