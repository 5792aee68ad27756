"""A school is one address: what its neighbours tried keeps nobody out at a browser they use."""

import re
from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient

import hosting
from authenticator import SecurityKey
from hosting import is_signed_in
from idsync.extension import EXTENSION

PHONE = "+493012345678"


@pytest.fixture
def app(database_url: str) -> Iterator[Flask]:
    app = hosting.make_host(database_url, IDSYNC_ADDRESS_LIMIT="2 per hour")
    yield app
    hosting.close_host(app)


@pytest.fixture
def person(app: Flask) -> hosting.Person:
    return hosting.add_person(app, "Ada", "ada@example.org", "correct horse", "--phone", PHONE)


@pytest.fixture
def texts(app: Flask) -> list[str]:
    sent: list[str] = []
    codes = app.extensions[EXTENSION].sign_in.phone._codes
    codes._send_text = lambda phone, text: sent.append(text)
    return sent


def use_up(app: Flask, person: hosting.Person) -> None:
    """Fail so often that the address is stopped."""
    neighbour = app.test_client()
    for _ in range(3):
        hosting.sign_in(neighbour, person, password="wrong")
    assert hosting.sign_in(neighbour, person).status_code == 429


def enter_code(browser: FlaskClient, texts: list[str]) -> int:
    hosting.submit(browser, "/sign-in/phone", {"phone": PHONE})
    found = re.match(r"\d{6}", texts[-1])
    assert found
    return hosting.submit(browser, "/sign-in/phone/code", {"code": found[0]}).status_code


def test_a_phone_code_signs_in_where_its_owner_has_been(
    app: Flask, person: hosting.Person, texts: list[str]
) -> None:
    """And nowhere else, for as long as the address is stopped."""
    own, other = app.test_client(), app.test_client()
    hosting.sign_in(own, person)
    hosting.submit(own, "/", {}, post_to="/sign-out")
    use_up(app, person)
    assert enter_code(own, texts) == 303
    assert is_signed_in(own)
    with app.app_context():  # the next code may be sent a minute later
        app.extensions[EXTENSION].sign_in.phone._codes._refuse_early = lambda *_: None
    assert enter_code(other, texts) == 429


def test_the_right_passkey_signs_in_anywhere(app: Flask, person: hosting.Person) -> None:
    """It cannot be guessed; wrong ones are stopped like everything else."""
    own, other = app.test_client(), app.test_client()
    hosting.sign_in(own, person)
    key = SecurityKey("http://localhost")
    page = own.get("/security/passkeys/new").text
    fields = {"answer": key.create(_options(page)), "label": "My key"}
    hosting.submit(own, "/security/passkeys/new", fields)
    use_up(app, person)

    def try_with(browser: FlaskClient, with_key: SecurityKey) -> int:
        answer = with_key.get(_options(browser.get("/sign-in").text))
        sent = hosting.submit(browser, "/sign-in", {"answer": answer}, post_to="/sign-in/passkey")
        return sent.status_code

    assert try_with(other, SecurityKey("http://localhost")) == 429
    assert try_with(other, key) == 303
    assert is_signed_in(other)


def _options(page: str) -> str:
    found = re.search(r'data-options="([^"]*)"', page)
    assert found
    return found[1].replace("&#34;", '"').replace("&amp;", "&")
