"""Every parameter of authorize, spoilt in every way: own page, or the error at the application."""

import random
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from werkzeug.test import TestResponse

import hosting
from hostile.spoiling import UNREADABLE, Fields, cells, spoil
from hostile.target import (
    CHALLENGE,
    Target,
    check_decency,
    encoded,
    send,
)

# page: our own page, 400. on: the request is sound, the person is asked to sign in.
# Anything else is the error that travels to the application.
AUTHORIZE = {
    #                         missing          empty            repeated
    #                         overlong         non-ASCII        quotes
    "client_id": """          page             page             page
                              page             page             page""",
    "redirect_uri": """       page             page             page
                              page             page             page""",
    "pending": """            on               on               page
                              page             page             page""",
    "response_type": """      invalid_request  invalid_request  invalid_request
                              unsupported_response_type
                                               unsupported_response_type
                                                                unsupported_response_type""",
    "response_mode": """      on               on               invalid_request
                              invalid_request  invalid_request  invalid_request""",
    "scope": """              on               on               invalid_request
                              invalid_request  on               on""",
    "state": """              on               on               invalid_request
                              invalid_request  on               on""",
    "nonce": """              on               on               invalid_request
                              invalid_request  on               on""",
    "prompt": """             on               on               invalid_request
                              invalid_request  invalid_request  invalid_request""",
    "max_age": """            on               on               invalid_request
                              invalid_request  invalid_request  invalid_request""",
    "code_challenge": """     invalid_request  invalid_request  invalid_request
                              invalid_request  invalid_request  invalid_request""",
    "code_challenge_method": """
                              on               on               invalid_request
                              invalid_request  invalid_request  invalid_request""",
    "login_hint": """         on               on               invalid_request
                              invalid_request  on               on""",
    "ui_locales": """         on               on               invalid_request
                              invalid_request  on               on""",
    "request": """            on               on               invalid_request
                              request_not_supported
                                               request_not_supported
                                                                request_not_supported""",
    "request_uri": """        on               on               invalid_request
                              request_uri_not_supported
                                               request_uri_not_supported
                                                                request_uri_not_supported""",
    "unknown": """            on               on               on
                              on               on               on""",
}


def authorize_fields(target: Target, public: bool = False) -> Fields:
    """A sound request with a value for every parameter that may have one."""
    application = target.public if public else target.application
    return {
        "client_id": application.client_id,
        "redirect_uri": application.redirect_uri,
        "response_type": "code",
        "response_mode": "query",
        "scope": "openid profile",
        "state": "state:1",
        "nonce": "n",
        "prompt": "consent login",
        "max_age": "100",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "login_hint": "ada@example.org",
        "ui_locales": "en fr",
        "unknown": "value",
    }


def send_authorize(target: Target, method: str, fields: Fields) -> TestResponse:
    where = "query" if method == "GET" else "body"
    parameters: Any = {where: encoded(fields)}
    return send(target.stranger(), method, "/oauth/authorize", **parameters)


def outcome(response: TestResponse) -> str:
    """An answer of authorize in the words of the table."""
    check_decency(response)
    location = response.headers.get("Location", "")
    if response.status_code == 400 and not location:
        assert response.mimetype == "text/html"
        return "page"
    assert response.status_code == 303
    if location.startswith("/oauth/authorize?pending="):
        return "on"
    return parse_qs(urlsplit(location).query)["error"][0]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_authorize_answers_every_spoilt_parameter(target: Target, method: str) -> None:
    """Own page, or the error at the registered address; a sound request goes on."""
    sound = authorize_fields(target)
    assert outcome(send_authorize(target, method, sound)) == "on"
    for name, how, expected in cells(AUTHORIZE):
        fields = spoil(sound, name, how)
        response = send_authorize(target, method, fields)
        assert outcome(response) == expected, (name, how)
        returned = parse_qs(urlsplit(response.headers.get("Location", "")).query).get("state")
        if expected not in ("page", "on"):
            assert returned == (None if name == "state" else ["state:1"]), (name, how)


def test_a_public_application_without_a_challenge_is_refused(target: Target) -> None:
    """Missing or empty, with a method or without."""
    sound = authorize_fields(target, public=True)
    assert outcome(send_authorize(target, "GET", sound)) == "on"
    for how in ("missing", "empty"):
        fields = spoil(sound, "code_challenge", how)
        assert outcome(send_authorize(target, "GET", fields)) == "invalid_request"
        fields = spoil(fields, "code_challenge_method", how)
        assert outcome(send_authorize(target, "GET", fields)) == "invalid_request"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_authorize_shows_what_it_cannot_read_on_its_own_page(target: Target, method: str) -> None:
    """Wherever it stands, in a value or a name: nobody can say whose request that is."""
    sound = authorize_fields(target)
    for kind, raw in UNREADABLE.items():
        for name in AUTHORIZE:
            response = send_authorize(target, method, {**sound, name: raw})
            assert outcome(response) == "page", (name, kind)
        where: Any = {"query" if method == "GET" else "body": encoded(sound) + b"&" + raw + b"=1"}
        response = send(target.stranger(), method, "/oauth/authorize", **where)
        assert outcome(response) == "page", kind


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_too_much_at_authorize_is_shown_on_its_own_page(target: Target, method: str) -> None:
    """Too many parameters, too many bytes."""
    sound = encoded(authorize_fields(target))
    for raw in (sound + b"&a=1" * 65, sound + b"&a=" + b"b" * 33_000, b"&" * 40_000):
        where: Any = {"query" if method == "GET" else "body": raw}
        response = send(target.stranger(), method, "/oauth/authorize", **where)
        assert outcome(response) == "page"


def test_the_largest_request_that_is_accepted_reaches_the_sign_in_page(target: Target) -> None:
    """Every parameter as long as it may be, and of a kind that no compression makes shorter."""
    chance = random.Random(1)  # noqa: S311
    spaces = [chr(code) for code in (0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x3000)]

    def noise(length: int) -> str:
        return "".join(chr(chance.randrange(0x21, 0x7F)) for _ in range(length))

    for prompt in ("login", "login" + "".join(chance.choices(spaces, k=8800))):
        fields = {
            **authorize_fields(target),
            "state": noise(1536),
            "scope": "openid " + noise(1000),
            "nonce": noise(200),
            "login_hint": noise(320),
            "ui_locales": noise(256),
            "prompt": prompt.encode(),
        }
        for method in ("GET", "POST"):
            response = send_authorize(target, method, fields)
            if prompt == "login":
                assert outcome(response) == "on"
                page = hosting.follow(target.app.test_client(), response)
                assert page.status_code == 200
            else:
                assert outcome(response) == "invalid_request"
