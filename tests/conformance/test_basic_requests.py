"""The basic certification plan, first part: what a request may ask, and what comes of it.

Each test has the name of a module of the suite and asks what that module does.
"""

import time
from unittest import mock

import hosting
from clients.flow import CHALLENGE, VERIFIER
from conformance.suite import Suite


def test_oidcc_server(suite: Suite) -> None:
    """A plain sign-in, everything checked; the subject has at most 255 ASCII characters."""
    tokens, claims = suite.sign_in()
    assert claims["sub"] == suite.person.id
    assert claims["sub"].isascii()
    assert len(claims["sub"]) <= 255
    assert "refresh_token" not in tokens


def test_oidcc_response_type_missing(suite: Suite) -> None:
    """invalid_request to the client (or a page); never a code."""
    request = suite.request()
    del request["response_type"]
    answer = suite.called_back(suite.address(request), request)
    assert answer["error"] == "invalid_request"


def test_oidcc_ensure_request_without_nonce_succeeds_for_code_flow(suite: Suite) -> None:
    """The id_token then has none."""
    request = suite.request()
    del request["nonce"]
    _, claims = suite.finish(suite.authorize(request), request)
    assert "nonce" not in claims


def test_oidcc_scope_profile(suite: Suite) -> None:
    """Of the scope's claims, name and updated_at; the suite warns of the others."""
    tokens, _ = suite.sign_in(scope="openid profile")
    userinfo = suite.userinfo(tokens)
    assert userinfo["name"] == suite.person.name
    assert isinstance(userinfo["updated_at"], int)


def test_oidcc_scope_email(suite: Suite) -> None:
    """The suite warns of the address in the id_token, where Core §5.4 wants it without a token."""
    tokens, claims = suite.sign_in(scope="openid email")
    userinfo = suite.userinfo(tokens)
    assert userinfo["email"] == claims["email"] == suite.person.email
    assert isinstance(userinfo["email_verified"], bool)
    assert "name" not in userinfo.keys() | claims.keys()


def test_oidcc_scope_address(suite: Suite) -> None:
    """Not supported, and discovery says so: dropped without an error."""
    assert "address" not in suite.metadata["scopes_supported"]
    tokens, _ = suite.sign_in(scope="openid address")
    assert tokens["scope"] == "openid"
    assert set(suite.userinfo(tokens)) == {"sub"}


def test_oidcc_scope_phone(suite: Suite) -> None:
    """As with address."""
    assert "phone" not in suite.metadata["scopes_supported"]
    tokens, _ = suite.sign_in(scope="openid phone")
    assert tokens["scope"] == "openid"
    assert set(suite.userinfo(tokens)) == {"sub"}


def test_oidcc_scope_all(suite: Suite) -> None:
    """The supported ones are granted, the others dropped."""
    tokens, _ = suite.sign_in(scope="openid profile email address phone")
    assert tokens["scope"] == "openid profile email"
    assert {"name", "email"} <= suite.userinfo(tokens).keys()


def test_oidcc_alternate_happy_flow(suite: Suite) -> None:
    """Scopes and parameters in another order."""
    request = suite.request(scope="email openid")
    request = dict(reversed(request.items()))
    tokens, _ = suite.finish(suite.authorize(request), request)
    userinfo = suite.userinfo(tokens)
    assert userinfo["email"] == suite.person.email
    assert "name" not in userinfo


def test_oidcc_display_page(suite: Suite) -> None:
    suite.sign_in(display="page")


def test_oidcc_display_popup(suite: Suite) -> None:
    """The same page; a minimum is that it is no error."""
    suite.sign_in(display="popup")


def test_oidcc_prompt_login(suite: Suite) -> None:
    """A second sign-in page for somebody who is signed in, and a later auth_time."""
    _, first = suite.sign_in()
    with mock.patch("time.time", return_value=time.time() + 1):
        _, second = suite.sign_in(prompt="login")
        assert suite.sign_in_pages == 1
    assert second["auth_time"] > first["auth_time"]
    assert second["sub"] == first["sub"]


def test_oidcc_prompt_none_not_logged_in(suite: Suite) -> None:
    request = suite.request(prompt="none")
    assert suite.called_back(suite.address(request), request)["error"] == "login_required"


def test_oidcc_prompt_none_logged_in(suite: Suite) -> None:
    """A code at once, for the same person who signed in at the same time."""
    _, first = suite.sign_in()
    request = suite.request(prompt="none")
    _, second = suite.finish(suite.called_back(suite.address(request), request), request)
    for name in ("sub", "auth_time"):
        assert second[name] == first[name]


def test_oidcc_max_age_1(suite: Suite) -> None:
    """Two seconds later they sign in again, and auth_time is recent and later."""
    _, first = suite.sign_in()
    with mock.patch("time.time", return_value=time.time() + 2):
        _, second = suite.sign_in(max_age="1")
        assert suite.sign_in_pages == 1
        assert second["auth_time"] > first["auth_time"]
        assert time.time() - second["auth_time"] < 5


def test_oidcc_max_age_10000(suite: Suite) -> None:
    """They do not, and auth_time stays."""
    _, first = suite.sign_in()
    with mock.patch("time.time", return_value=time.time() + 2):
        _, second = suite.sign_in(max_age="10000")
        assert suite.sign_in_pages == 0
    for name in ("sub", "auth_time"):
        assert second[name] == first[name]


def test_oidcc_ensure_request_with_unknown_parameter_succeeds(suite: Suite) -> None:
    suite.sign_in(extra="foobar")


def test_oidcc_id_token_hint(suite: Suite) -> None:
    """With prompt=none and the id_token of the first sign-in: a code at once."""
    tokens, first = suite.sign_in()
    request = suite.request(prompt="none", id_token_hint=tokens["id_token"])
    _, second = suite.finish(suite.called_back(suite.address(request), request), request)
    for name in ("sub", "auth_time"):
        assert second[name] == first[name]


def test_oidcc_login_hint(suite: Suite) -> None:
    """It stands in the sign-in form, and signing in succeeds."""
    request = suite.request(login_hint="buffy@id.example.org")
    page = hosting.follow(suite.browser, suite.address(request))
    assert 'value="buffy@id.example.org"' in page.text
    suite.finish(suite.authorize(request, page), request)


def test_oidcc_ui_locales(suite: Suite) -> None:
    """No error, whether we know the languages or not; a known one is used."""
    request = suite.request(ui_locales="se ru")
    page = hosting.follow(suite.browser, suite.address(request))
    assert '<html lang="ru">' in page.text
    suite.finish(suite.authorize(request, page), request)


def test_oidcc_claims_locales(suite: Suite) -> None:
    suite.sign_in(claims_locales="se")


def test_oidcc_ensure_request_with_acr_values_succeeds(suite: Suite) -> None:
    """Voluntary: the id_token says which one was reached."""
    _, claims = suite.sign_in(acr_values="2 1")
    assert claims["acr"] == "1"
    assert claims["acr"] in suite.metadata["acr_values_supported"]


def test_oidcc_ensure_registered_redirect_uri(suite: Suite) -> None:
    """Our own page says so; nobody is sent to an address that is not registered."""
    request = suite.request(redirect_uri="https://app.example.org/callback/not-registered")
    page = suite.address(request)
    assert page.status_code == 400
    assert "Location" not in page.headers
    assert "redirect_uri" in page.text


def test_oidcc_ensure_post_request_succeeds(suite: Suite) -> None:
    """The request in the body of a POST, from another site."""
    request = suite.request()
    first = suite.browser.post("/oauth/authorize", data=request)
    suite.finish(suite.authorize(request, first), request)


def test_oidcc_ensure_request_with_valid_pkce_succeeds(suite: Suite) -> None:
    """With S256, by a client that has a secret as well."""
    assert "S256" in suite.metadata["code_challenge_methods_supported"]
    request = suite.request(code_challenge=CHALLENGE, code_challenge_method="S256")
    code = suite.authorize(request)["code"]
    tokens = suite.tokens(suite.redeem(code, code_verifier=VERIFIER))
    suite.claims(tokens, request["nonce"])
