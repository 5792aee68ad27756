"""Every field of the forms people send, and of logout, spoilt in every way."""

from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest

import hosting
from hostile.spoiling import SPOILT, UNREADABLE, spoil
from hostile.target import (
    Target,
    check_decency,
    encoded,
    send,
)

# --- logout --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_logout_shows_what_it_cannot_read_and_follows_nothing_foreign(
    target: Target, method: str
) -> None:
    """Own page or sign-in page; nobody is sent to an address that is not an application's."""
    sound = {"next": "https://evil.example/"}
    rp_initiated = {
        "id_token_hint": "x.y.z",
        "post_logout_redirect_uri": hosting.REDIRECT_URI,
        "client_id": target.application.client_id,
        "state": "s",
    }
    for fields in (sound, rp_initiated):
        spoilt = [spoil(fields, name, how) for name in fields for how in SPOILT]
        spoilt += [{**fields, name: raw} for name in fields for raw in UNREADABLE.values()]
        for each in spoilt:
            where: Any = {"query" if method == "GET" else "body": encoded(each)}
            response = send(target.stranger(), method, "/logout", **where)
            check_decency(response)
            assert response.status_code in (303, 400)
            assert "Location" not in response.headers or response.status_code == 303


# --- pages of the host -------------------------------------------------------------------------


def test_the_consent_form_answers_every_spoilt_field(target: Target) -> None:
    """A form that is not ours is an expired page, one without a decision is asked again."""
    browser = target.browser()
    address = hosting.authorize_path(target.application, prompt="consent")
    sound = {**hosting.hidden_fields(browser.get(address).text), "decision": "allow"}
    assert set(sound) == {"csrf_token", "pending", "decision"}
    for name in (*sound, "unknown"):
        for how in SPOILT:
            body = encoded(spoil(sound, name, how))
            response = send(browser, "POST", "/oauth/consent", body=body)
            check_decency(response)
            kept = how == "repeated" and name != "unknown"
            if name == "decision" and not kept:
                assert response.headers["Location"].startswith("/oauth/authorize?pending=")
            elif name != "unknown" and not kept:
                assert response.status_code == 400, (name, how)
                assert response.mimetype == "text/html"
        for kind, raw in UNREADABLE.items():
            body = encoded({**sound, name: raw})
            response = send(browser, "POST", "/oauth/consent", body=body)
            check_decency(response)
            assert response.status_code == 400, (name, kind)
    response = send(browser, "POST", "/oauth/consent", body=encoded(sound))
    assert response.headers["Location"].startswith(hosting.REDIRECT_URI + "?code=")


def test_the_sign_in_form_answers_every_spoilt_field(target: Target) -> None:
    """A wrong or missing value is the form again (422), a missing token an expired page (400)."""
    browser = target.app.test_client()
    page = browser.get("/sign-in")
    person = target.person
    sound = {
        **hosting.hidden_fields(page.text),
        "email": person.email,
        "password": person.password,
    }
    spoilt = [
        (name, spoil(sound, name, how)) for name in sound for how in SPOILT if how != "repeated"
    ]
    spoilt += [(name, {**sound, name: raw}) for name in sound for raw in UNREADABLE.values()]
    for name, fields in spoilt:
        body = encoded(fields)
        response = send(browser, "POST", "/sign-in", body=body)
        check_decency(response)
        # Raw bytes leave nothing of the form to be read, its token included.
        lost = name == "csrf_token" or b"\xff" in body
        assert response.status_code == (400 if lost else 422), (name, fields)
    response = send(browser, "POST", "/sign-in", body=encoded(sound))
    assert (response.status_code, response.headers["Location"]) == (303, "/")


@pytest.mark.parametrize(
    "next_address",
    [
        b"https://evil.example/",
        b"//evil.example/",
        b"/%5Cevil.example/",
        b"/%09/evil.example/",
        b"%2F%2Fevil.example",
        b"javascript:alert(1)",
        b"/%0d%0aLocation:%20https://evil.example/",
        b"/a%00b",
        b"/%ff",
        b"/\xff",
        b"http:evil.example",
        b"/x&next=//evil.example/",
        b"/" + b"a" * 9000,
        b"%E2%80%AE/",
        b"https://[",
        b"/../..//evil.example",
    ],
)
def test_signing_in_leads_nowhere_else(target: Target, next_address: bytes) -> None:
    """`next` is a path on this site, or it is not followed."""
    browser = target.app.test_client()
    query = b"next=" + next_address
    page = send(browser, "GET", "/sign-in", query=query)
    check_decency(page)
    if b"\xff" in query:  # not even percent-encoded: the page does not open
        assert page.status_code == 400
        return
    fields = {"email": target.person.email, "password": target.person.password}
    body = encoded({**hosting.hidden_fields(page.text), **fields})
    response = send(browser, "POST", "/sign-in", query=query, body=body)
    check_decency(response)
    assert response.status_code == 303
    assert urlsplit(urljoin(page.request.url, response.headers["Location"])).netloc == "localhost"
    check_decency(send(browser, "GET", "/sign-in", query=query))
