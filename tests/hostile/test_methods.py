"""Every method at every address, and what a preflight is told."""

import pytest

import hosting
from hostile.target import (
    DOCUMENTS,
    MACHINE,
    PAGES,
    Target,
    check_decency,
    check_machine_answer,
    send,
)

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
UNUSUAL_METHODS = ("TRACE", "CONNECT", "PROPFIND", "GET/", "É", "A" * 200)

ALLOWED = {
    "/oauth/token": {"POST"},
    "/oauth/userinfo": {"GET", "POST"},
    "/oauth/revoke": {"POST"},
    **{document: {"GET", "HEAD"} for document in DOCUMENTS},
    "/oauth/authorize": {"GET", "HEAD", "POST", "OPTIONS"},
    "/oauth/consent": {"POST", "OPTIONS"},
    "/logout": {"GET", "HEAD", "POST", "OPTIONS"},
    "/sign-in": {"GET", "HEAD", "POST", "OPTIONS"},
    "/": {"GET", "HEAD", "OPTIONS"},
}


@pytest.mark.parametrize("path", ALLOWED)
def test_every_method_is_answered_at_every_address(target: Target, path: str) -> None:
    """A wrong one with 405 and `Allow`, as JSON where programs call; OPTIONS is a preflight."""
    browser = target.browser()
    token = hosting.hidden_fields(browser.get("/").text)["csrf_token"].encode()
    for method in METHODS:
        response = send(
            browser,
            method,
            path,
            headers={"Origin": b"https://spa.example", "X-CSRFToken": token},
        )
        assert path in PAGES or path in MACHINE
        if path in MACHINE:
            check_machine_answer(response, path)
        else:
            check_decency(response)
            assert "Access-Control-Allow-Origin" not in response.headers
        allowed = method in ALLOWED[path] or method == "OPTIONS"
        assert (response.status_code == 405) == (not allowed), method
        if not allowed:
            assert set(response.headers["Allow"].split(", ")) == ALLOWED[path]


@pytest.mark.parametrize("path", ALLOWED)
def test_an_unheard_of_method_is_refused(target: Target, path: str) -> None:
    """405; the body is whatever the host makes of it."""
    for method in UNUSUAL_METHODS:
        response = send(target.stranger(), method, path)
        check_decency(response)
        assert response.status_code == 405


def test_preflights_are_answered_without_cookies_and_allow_the_token(target: Target) -> None:
    """`*` does not cover Authorization (Fetch §3.2.2), so it is named; and remembered for a day."""
    for path in MACHINE:
        response = target.stranger().options(
            path,
            headers={
                "Origin": "https://spa.example",
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization,content-type",
            },
        )
        check_machine_answer(response, path)
        assert response.headers["Access-Control-Allow-Origin"] == "*"
        allowed = response.headers["Access-Control-Allow-Headers"].lower().split(", ")
        assert {"authorization", "content-type"} <= set(allowed)
        assert set(response.headers["Access-Control-Allow-Methods"].split(", ")) == ALLOWED[path]
        assert response.headers["Access-Control-Max-Age"] == "86400"
