"""Passkeys sign in: alone, and as the second step."""

import re

from flask import Flask
from flask.testing import FlaskClient

import hosting
from authenticator import SecurityKey, encode
from hosting import is_signed_in
from signin.conftest import amr
from signin.passkeys.keys import ORIGIN, add, options_on, sign_in_with


def test_a_passkey_signs_in_alone_by_two_factors(
    app: Flask, client: FlaskClient, person: hosting.Person, other: FlaskClient
) -> None:
    """The key, and what unlocks it; the application hears so."""
    key = SecurityKey(ORIGIN)
    path = "/security/passkeys/new"
    answer = hosting.submit(
        client, path, {"answer": key.create(options_on(client, path)), "label": "My key"}
    )
    assert len(re.findall(r"<li><code>", answer.text)) == 10
    assert is_signed_in(client)
    assert amr(client) == ("pwd", "hwk", "mfa")
    shown = hosting.run(app, "idsync", "account", "show", person.id, "--json")
    assert shown["mfa"] is True
    assert sign_in_with(other, key)
    assert amr(other) == ("hwk", "user", "mfa")
    assert "Last used" in other.get("/security").text
    synced = SecurityKey(ORIGIN, synced=True, counts=False)
    assert add(other, synced, "My phone") == 303
    third = app.test_client()
    assert sign_in_with(third, synced)
    assert amr(third) == ("swk", "user", "mfa")


def test_a_passkey_is_the_second_step(
    client: FlaskClient, person: hosting.Person, other: FlaskClient
) -> None:
    """Even one that does not ask who the person is: the password did."""
    key = SecurityKey(ORIGIN, verifies=False)
    add(client, key)
    hosting.sign_in(other, person)
    assert not is_signed_in(other)
    answer = key.get(options_on(other, "/sign-in/second-factor"))
    hosting.submit(
        other,
        "/sign-in/second-factor",
        {"answer": answer},
        post_to="/sign-in/second-factor/passkey",
    )
    assert is_signed_in(other)
    assert amr(other) == ("pwd", "hwk", "mfa")


def test_recovery_codes_help_who_lost_the_passkey(
    client: FlaskClient, person: hosting.Person, other: FlaskClient
) -> None:
    key = SecurityKey(ORIGIN)
    path = "/security/passkeys/new"
    answer = hosting.submit(
        client, path, {"answer": key.create(options_on(client, path)), "label": "My key"}
    )
    codes = re.findall(r"<li><code>([^<]+)</code>", answer.text)
    hosting.sign_in(other, person)
    hosting.submit(other, "/sign-in/second-factor", {"code": codes[0]})
    assert is_signed_in(other)
    remove = f"/security/passkeys/{encode(key.id)}/remove"
    assert hosting.submit(other, remove, {"code": codes[0]}).status_code == 422
    assert hosting.submit(other, remove, {"code": codes[1]}).status_code == 303
    hosting.submit(other, "/", {}, post_to="/sign-out")
    hosting.sign_in(other, person)
    assert is_signed_in(other)  # by the password alone again


def test_an_account_erased_between_the_steps_is_refused(
    app: Flask, client: FlaskClient, person: hosting.Person, other: FlaskClient
) -> None:
    key = SecurityKey(ORIGIN)
    add(client, key)
    hosting.sign_in(other, person)
    answer = key.get(options_on(other, "/sign-in/second-factor"))
    page = other.get("/sign-in/second-factor")
    hosting.run(app, "idsync", "account", "erase", person.id, "--yes")
    fields = {**hosting.hidden_fields(page.text), "answer": answer}
    assert other.post("/sign-in/second-factor/passkey", data=fields).status_code == 303
    assert not is_signed_in(other)


def test_a_disabled_account_is_not_signed_in(
    app: Flask, client: FlaskClient, person: hosting.Person, other: FlaskClient
) -> None:
    key = SecurityKey(ORIGIN)
    add(client, key)
    hosting.run(app, "idsync", "account", "disable", person.id)
    assert not sign_in_with(other, key)


def test_reset_factors_forgets_passkeys(
    app: Flask, client: FlaskClient, person: hosting.Person, other: FlaskClient
) -> None:
    key = SecurityKey(ORIGIN)
    add(client, key)
    hosting.run(app, "idsync", "account", "reset-factors", person.id)
    assert not sign_in_with(other, key)
    hosting.sign_in(other, person)
    assert is_signed_in(other)
