"""What people do with a key at the pages of the host: add it, and sign in with it."""

import html
import re

from flask.testing import FlaskClient

import hosting
from authenticator import SecurityKey
from hosting import is_signed_in

ORIGIN = hosting.ISSUER


def options_on(browser: FlaskClient, path: str) -> str:
    found = re.search(r'data-options="([^"]*)"', browser.get(path).text)
    assert found, path
    return html.unescape(found[1])


def add(browser: FlaskClient, key: SecurityKey, label: str = "My key", **changed: object) -> int:
    path = "/security/passkeys/new"
    answer = key.create(options_on(browser, path), **changed)
    return hosting.submit(browser, path, {"answer": answer, "label": label}).status_code


def sign_in(browser: FlaskClient, answer: str) -> bool:
    hosting.submit(browser, "/sign-in?next=/", {"answer": answer}, post_to="/sign-in/passkey")
    return is_signed_in(browser)


def sign_in_with(browser: FlaskClient, key: SecurityKey, **changed: object) -> bool:
    return sign_in(browser, key.get(options_on(browser, "/sign-in?next=/"), **changed))
