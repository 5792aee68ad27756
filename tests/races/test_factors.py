"""Second factors of one account, added and removed at once, with processes on one database."""

import html
import re
import time
from collections.abc import Callable

import pyotp
import pytest
from flask import Flask
from sqlalchemy import text

import hosting
from authenticator import SecurityKey, encode
from host_app.models import db, identity
from races import sign_in_deeds
from races.crew import Crew

Crews = Callable[[int], Crew]
Form = tuple[str, str, dict[str, str]]

DONE, DONE_AND_SHOWN = 303, 200
"""Recovery codes are shown where there were none."""


class Owner:
    """Somebody signed in by both factors, who sends what another process could send as well."""

    def __init__(self, host: Flask) -> None:
        self._host = host
        self._person = hosting.add_person(host)
        self._browser = host.test_client()
        hosting.sign_in(self._browser, self._person)
        self._app = hosting.set_up_app(self._browser)
        self._key = SecurityKey(hosting.ISSUER)

    def add_passkey(self) -> Form:
        path, self._key = "/security/passkeys/new", SecurityKey(hosting.ISSUER)
        page = self._browser.get(path).text
        return self._form(page, path, answer=self._key.create(options_on(page)), label="My key")

    def remove_app(self) -> Form:
        self._forget_used_codes()
        path = "/security/app/remove"
        return self._form(self._browser.get(path).text, path, code=self._code(self._app.secret))

    def add_app(self) -> Form:
        path = "/security/app/confirm"
        hosting.submit(self._browser, "/security", {}, post_to="/security/app")
        page = self._browser.get(path).text
        secret = re.search(r"<code>([A-Z2-7 ]{32,})</code>", page)
        assert secret, page
        self._app = hosting.App(secret[1].replace(" ", ""), [])
        return self._form(page, path, code=self._code(self._app.secret))

    def remove_passkey(self) -> Form:
        path = f"/security/passkeys/{encode(self._key.id)}/remove"
        page = self._browser.get(path).text
        return self._form(page, path, answer=self._key.get(options_on(page)))

    def send(self, form: Form) -> None:
        """Send a form from this process."""
        assert sign_in_deeds.post(self._host, *form) in (DONE, DONE_AND_SHOWN)

    def has(self) -> tuple[bool, bool, int]:
        """Whether the account says it has a second factor, and its app and passkeys.

        Recovery codes are there while one of these is.
        """
        with self._host.app_context():
            account = identity.directory.find(self._person.id)
            user = identity.find_user(self._person.email)
            assert account is not None
            factors = identity.factors.of(user)
            assert factors.recovery_codes == (10 if factors else 0)
            return account.mfa, factors.app, factors.passkeys

    def _form(self, page: str, path: str, **fields: str) -> Form:
        cookie = self._browser.get_cookie(self._host.config["SESSION_COOKIE_NAME"])
        assert cookie is not None
        return cookie.value, path, {**hosting.hidden_fields(page), **fields}

    def _code(self, secret: str) -> str:
        """Right for long enough, whatever the time is."""
        return pyotp.TOTP(secret).at(int(time.time()) + 15)

    def _forget_used_codes(self) -> None:
        with self._host.app_context():
            db.session.execute(text("DELETE FROM idsync_try"))
            db.session.execute(text("UPDATE idsync_totp SET last_step = 0"))
            db.session.commit()


def options_on(page: str) -> str:
    found = re.search(r'data-options="([^"]*)"', page)
    assert found, page
    return html.unescape(found[1])


def race(owner: Owner, crew: Crew, rounds: int) -> None:
    """In turn: a passkey comes while the app goes, the other way round, and both go."""

    def at_once(first: Form, second: Form) -> None:
        assert {*crew.together(sign_in_deeds.post, first, second)} <= {DONE, DONE_AND_SHOWN}

    for _ in range(rounds):
        at_once(owner.add_passkey(), owner.remove_app())
        assert owner.has() == (True, False, 1)
        at_once(owner.add_app(), owner.remove_passkey())
        assert owner.has() == (True, True, 0)
        owner.send(owner.add_passkey())
        at_once(owner.remove_app(), owner.remove_passkey())
        assert owner.has() == (False, False, 0)
        owner.send(owner.add_app())


def test_mfa_says_what_there_is_after_changes_at_once(host: Flask, crew: Crews) -> None:
    """Neither does a factor go unnoticed, nor one linger; and nobody waits for the other for ever.

    Two processes change the factors of one account.
    """
    race(Owner(host), crew(2), 5)


@pytest.mark.proof
def test_mfa_says_what_there_is_after_changes_at_once_100_times(host: Flask, crew: Crews) -> None:
    """The same for longer."""
    race(Owner(host), crew(2), 100)
