"""The checks on an authorization request, in their fixed order."""

from dataclasses import replace
from urllib.parse import parse_qs

import pytest

from applications.sound import SOUND
from idsync.oauth import errors
from idsync.oauth.request import AuthorizationRequest, find_client, read_request, state_of
from idsync.parameters import UnreadableParameters, read_parameters, single_values

URI = "https://app.example/callback"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
CONFIDENTIAL = SOUND
PUBLIC = replace(SOUND, client_id="app_p", secret_digest=None)
INACTIVE = replace(SOUND, client_id="app_i", active=False)
EVERYONE = {one.client_id: one for one in (CONFIDENTIAL, PUBLIC, INACTIVE)}


def check(query: str) -> AuthorizationRequest:
    parameters = parse_qs(query, keep_blank_values=True)
    application, redirect_uri = find_client(parameters, EVERYONE.get)
    return read_request(parameters, application, redirect_uri)


BASE = f"client_id=app_1&redirect_uri={URI}&response_type=code"


def test_a_plain_request_passes() -> None:
    """The smallest request of a confidential application."""
    assert check(BASE) == AuthorizationRequest("app_1", URI, ("openid",))


def test_every_parameter_is_read() -> None:
    """All values a request can carry."""
    request = check(
        f"{BASE}&scope=profile+email&state=a:b&nonce=n&prompt=login+consent&max_age=10"
        f"&code_challenge={CHALLENGE}&code_challenge_method=S256&unknown=1&unknown=2"
    )
    assert request == AuthorizationRequest(
        "app_1",
        URI,
        ("openid", "profile"),
        "a:b",
        CHALLENGE,
        "n",
        frozenset({"login", "consent"}),
        10,
    )


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("", errors.UnknownApplication),
        ("client_id=", errors.UnknownApplication),
        (f"client_id=app_x&redirect_uri={URI}", errors.UnknownApplication),
        (f"client_id=app_1&client_id=app_1&redirect_uri={URI}", errors.RepeatedClient),
        (f"{BASE}&redirect_uri={URI}", errors.RepeatedClient),
        (f"client_id=app_i&redirect_uri={URI}", errors.InactiveApplication),
        ("client_id=app_1", errors.UnregisteredRedirectURI),
        ("client_id=app_1&redirect_uri=", errors.UnregisteredRedirectURI),
        (f"client_id=app_1&redirect_uri={URI}/", errors.UnregisteredRedirectURI),
        (f"client_id=app_1&redirect_uri={URI.upper()}", errors.UnregisteredRedirectURI),
        (f"client_id=app_1&redirect_uri={URI}?x=1", errors.UnregisteredRedirectURI),
        ("client_id=app_1&redirect_uri=https://evil.example/", errors.UnregisteredRedirectURI),
        # The own page comes first, whatever else is wrong.
        (
            "client_id=app_1&redirect_uri=https://evil.example/&request=x",
            errors.UnregisteredRedirectURI,
        ),
        ("client_id=app_x&response_type=token", errors.UnknownApplication),
    ],
)
def test_what_may_not_be_redirected_is_a_page(query: str, error: type[Exception]) -> None:
    """Checks 1 to 4: nothing goes to an address before it is known to be the application's."""
    with pytest.raises(error):
        check(query)


@pytest.mark.parametrize(
    ("query", "error"),
    [
        (f"client_id=app_1&redirect_uri={URI}", "invalid_request"),
        (f"client_id=app_1&redirect_uri={URI}&response_type=", "invalid_request"),
        (f"client_id=app_1&redirect_uri={URI}&response_type=token", "unsupported_response_type"),
        (
            f"client_id=app_1&redirect_uri={URI}&response_type=code+token",
            "unsupported_response_type",
        ),
        (
            f"client_id=app_1&redirect_uri={URI}&response_type=%22%C3%A9",
            "unsupported_response_type",
        ),
        (f"{BASE}&response_type=code", "invalid_request"),
        (f"{BASE}&state=a&state=a", "invalid_request"),
        (f"{BASE}&scope=a&scope=", "invalid_request"),
        (f"{BASE}&state=" + "s" * 1537, "invalid_request"),
        (f"{BASE}&scope=" + "s" * 1025, "invalid_request"),
        (f"{BASE}&nonce=" + "n" * 201, "invalid_request"),
        (f"{BASE}&request=eyJ", "request_not_supported"),
        (f"{BASE}&request_uri=https://app.example/r", "request_uri_not_supported"),
        (f"{BASE}&response_mode=fragment", "invalid_request"),
        (f"{BASE}&response_mode=form_post", "invalid_request"),
        (f"{BASE}&code_challenge={CHALLENGE}&code_challenge_method=plain", "invalid_request"),
        (f"{BASE}&code_challenge={CHALLENGE}&code_challenge_method=s256", "invalid_request"),
        (f"{BASE}&code_challenge={CHALLENGE}%3D", "invalid_request"),
        (f"{BASE}&code_challenge={CHALLENGE[:-1]}", "invalid_request"),
        (f"{BASE}&code_challenge={CHALLENGE[:-1]}.", "invalid_request"),
        (f"{BASE}&code_challenge_method=S256", "invalid_request"),
        (BASE.replace("app_1", "app_p"), "invalid_request"),
        (f"{BASE}&prompt=none+login", "invalid_request"),
        (f"{BASE}&prompt=create", "invalid_request"),
        (f"{BASE}&max_age=-1", "invalid_request"),
        (f"{BASE}&max_age=1.5", "invalid_request"),
        (f"{BASE}&max_age=%D9%A1", "invalid_request"),
        (f"{BASE}&max_age=9999999999", "invalid_request"),
    ],
)
def test_other_errors_travel_to_the_application(query: str, error: str) -> None:
    """Checks 5 to 10, each with its protocol code."""
    with pytest.raises(errors.AuthorizationError) as refused:
        check(query)
    assert refused.value.error == error
    assert refused.value.description.isascii()
    assert '"' not in refused.value.description


def test_lengths_are_counted_in_characters() -> None:
    """The contract's 200 for a nonce, whatever the script."""
    assert check(f"{BASE}&nonce=" + "%D1%8F" * 200).nonce == "я" * 200


def test_a_challenge_without_a_method_means_s256() -> None:
    """There is no other method here."""
    assert check(f"{BASE}&code_challenge={CHALLENGE}").code_challenge == CHALLENGE


def test_an_error_returns_the_one_state_that_was_sent() -> None:
    """A repeated or overlong state is not echoed."""
    assert state_of({"state": ["a:b c"]}) == "a:b c"
    assert state_of({"state": ["a", "b"]}) is None
    assert state_of({"state": ["s" * 1537]}) is None
    assert state_of({}) is None


@pytest.mark.parametrize(
    "raw",
    [
        b"a=%ff",
        b"a=\xff",
        b"a=%00",
        b"a=%0a",
        b"%7f=1",
        b"a=" + b"1" * 40_000,
        b"&".join([b"a=1"] * 65),
    ],
)
def test_what_cannot_be_read_is_refused(raw: bytes) -> None:
    """Not UTF-8, control characters, too much: refused, never replaced."""
    with pytest.raises(UnreadableParameters):
        read_parameters(raw)


def test_an_empty_parameter_counts_as_absent_and_a_repeated_one_is_refused() -> None:
    """RFC 6749 §3.1 and §3.2."""
    assert single_values(read_parameters(b"a=1&b=")) == {"a": "1"}
    with pytest.raises(UnreadableParameters):
        single_values(read_parameters(b"a=1&a=1"))
