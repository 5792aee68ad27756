"""The plans of RP-initiated and back-channel logout.

Each test has the name of a module of the suite and asks what that module does.
"""

import time
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from werkzeug.test import TestResponse

import hosting
from conformance.suite import BYE, Suite, unsigned
from receiver import read, receiver

PATH = "/logout"


@pytest.fixture
def id_token(suite: Suite) -> str:
    """That of somebody who is signed in."""
    tokens, _ = suite.sign_in()
    return str(tokens["id_token"])


def leave(suite: Suite, **parameters: str) -> TestResponse:
    assert urlsplit(suite.metadata["end_session_endpoint"]).path == PATH
    return suite.browser.get(PATH, query_string=parameters)


def assert_refused(suite: Suite, response: TestResponse) -> None:
    """A page of ours, no redirect, and the person is still signed in."""
    assert response.status_code == 400
    assert "Location" not in response.headers
    assert "<html" in response.text
    assert suite.is_signed_in()


def assert_signed_out(suite: Suite, response: TestResponse) -> None:
    """On a page of ours, after a question or without."""
    if response.status_code == 200:
        assert "Sign out?" in response.text
        fields = hosting.hidden_fields(response.text)
        response = suite.browser.post(PATH, data=fields)
    assert response.headers["Location"].startswith("/sign-in")
    assert not suite.is_signed_in()


def test_oidcc_rp_initiated_logout_discovery_endpoint_verification(suite: Suite) -> None:
    assert suite.metadata["end_session_endpoint"] == f"{hosting.ISSUER}{PATH}"


def test_oidcc_rp_initiated_logout(suite: Suite, id_token: str) -> None:
    """Back to the registered address with the state, and signed out."""
    response = leave(suite, id_token_hint=id_token, post_logout_redirect_uri=BYE, state="s-1")
    address, _, query = response.headers["Location"].partition("?")
    assert (address, parse_qs(query)) == (BYE, {"state": ["s-1"]})
    assert not suite.is_signed_in()


def test_oidcc_rp_initiated_logout_bad_post_logout_redirect_uri(
    suite: Suite, id_token: str
) -> None:
    bad = "https://app.example.org/post_logout_redirect/bad"
    response = leave(suite, id_token_hint=id_token, post_logout_redirect_uri=bad, state="s-1")
    assert_refused(suite, response)


def test_oidcc_rp_initiated_logout_modified_id_token_hint(suite: Suite, id_token: str) -> None:
    """The same claims with `alg: none`."""
    head, body, _ = id_token.split(".")
    none = unsigned({}).split(".")[0]
    for hint in (f"{none}.{body}.", f"{head}.{body}."):
        response = leave(suite, id_token_hint=hint, post_logout_redirect_uri=BYE, state="s-1")
        assert_refused(suite, response)


def test_oidcc_rp_initiated_logout_bad_id_token_hint(suite: Suite, id_token: str) -> None:
    """Signed by the suite's own key."""
    claims = {
        "iss": suite.metadata["issuer"],
        "sub": suite.person.id,
        "aud": suite.client.client_id,
    }
    forged = jwt.encode({"alg": "RS256"}, claims, RSAKey.generate_key(2048))
    response = leave(suite, id_token_hint=forged, post_logout_redirect_uri=BYE, state="s-1")
    assert_refused(suite, response)


def test_oidcc_rp_initiated_logout_no_id_token_hint(suite: Suite, id_token: str) -> None:
    """An address without anybody whose it is."""
    assert_refused(suite, leave(suite, post_logout_redirect_uri=BYE, state="s-1"))


def test_oidcc_rp_initiated_logout_no_params(suite: Suite, id_token: str) -> None:
    assert_signed_out(suite, leave(suite))


def test_oidcc_rp_initiated_logout_no_post_logout_redirect_uri(suite: Suite, id_token: str) -> None:
    assert_signed_out(suite, leave(suite, id_token_hint=id_token, state="s-1"))


def test_oidcc_rp_initiated_logout_no_state(suite: Suite, id_token: str) -> None:
    response = leave(suite, id_token_hint=id_token, post_logout_redirect_uri=BYE)
    assert response.headers["Location"] == BYE
    assert not suite.is_signed_in()


def test_oidcc_rp_initiated_logout_only_state(suite: Suite, id_token: str) -> None:
    """After a question: nothing shows that an application asks."""
    assert_signed_out(suite, leave(suite, state="s-1"))


def test_oidcc_rp_initiated_logout_query_added_to_post_logout_redirect_uri(
    suite: Suite, id_token: str
) -> None:
    added = f"{BYE}?foo=bar"
    response = leave(suite, id_token_hint=id_token, post_logout_redirect_uri=added, state="s-1")
    assert_refused(suite, response)


def test_oidcc_backchannel_logout_discovery_endpoint_verification(suite: Suite) -> None:
    assert suite.metadata["backchannel_logout_supported"] is True
    assert suite.metadata["backchannel_logout_session_supported"] is True
    assert "end_session_endpoint" in suite.metadata


def test_oidcc_backchannel_rp_initiated_logout(suite: Suite) -> None:
    """The token names the session of the id_token; the browser comes back; both signed out."""
    with receiver() as listener:
        edit = ("idsync", "application", "edit", suite.client.client_id)
        hosting.run(
            suite.app,
            *edit,
            "--backchannel-logout-uri",
            listener.url,
            "--backchannel-logout-session-required",
        )
        tokens, claims = suite.sign_in()
        hint = {"id_token_hint": tokens["id_token"], "post_logout_redirect_uri": BYE}
        response = leave(suite, **hint, state="s-1")
        hosting.run(suite.app, "idsync", "deliver", "--once")
        ((_, _, _, body),) = listener.requests
        assert list(parse_qs(body)) == ["logout_token"]
        token = read(listener.tokens()[0], suite.server.get("/oauth/jwks").json)
    for name in ("iss", "aud", "sub", "sid"):
        assert token.claims[name] == claims[name]
    assert token.claims["events"] == {"http://schemas.openid.net/event/backchannel-logout": {}}
    assert time.time() - 60 < token.claims["iat"] <= time.time() + 5 < token.claims["exp"]
    assert token.claims["jti"]
    assert "nonce" not in token.claims
    assert response.headers["Location"] == f"{BYE}?state=s-1"
    assert not suite.is_signed_in()
