"""Hashes of Werkzeug and Django in the exchange format: the same password fits."""

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.security import generate_password_hash

from idsync.crypto.exchange import ExchangeHash, ExchangeHashError
from idsync.crypto.foreign_hashes import exchange_form

PASSWORD = "pässword"
ENCODINGS = ("text", "hex", "base64")


def django(password: str, salt: str, iterations: int = 10_000) -> str:
    """As `django.contrib.auth.hashers.PBKDF2PasswordHasher` writes it."""
    digest = hashlib.pbkdf2_hmac("sha256", password.encode(), salt.encode(), iterations)
    return f"pbkdf2_sha256${iterations}${salt}${base64.b64encode(digest).decode()}"


def fits(converted: str | None, password: str, encoding: str) -> bool:
    assert converted is not None
    return ExchangeHash.parse(converted, salt_encoding=encoding).verify(
        password, salt_encoding=encoding
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_hash_of_werkzeug_fits_the_same_password(encoding: str) -> None:
    """In whatever way this service writes salts."""
    stored = generate_password_hash(PASSWORD, method="pbkdf2:sha256:10000")
    converted = exchange_form(stored, salt_encoding=encoding)
    assert fits(converted, PASSWORD, encoding)
    assert not fits(converted, "password", encoding)


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(
    salt=st.text(
        st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="$"),
        min_size=1,
        max_size=40,
    )
)
def test_a_hash_of_django_fits_the_same_password(encoding: str, salt: str) -> None:
    """Whatever its salt."""
    converted = exchange_form(django(PASSWORD, salt), salt_encoding=encoding)
    assert fits(converted, PASSWORD, encoding)


def test_a_salt_that_text_cannot_express_is_refused() -> None:
    """In hex and base64 it has no such limits."""
    stored = django(PASSWORD, "соль")
    with pytest.raises(ExchangeHashError, match="salt"):
        exchange_form(stored, salt_encoding="text")
    assert fits(exchange_form(stored, salt_encoding="hex"), PASSWORD, "hex")
    assert fits(exchange_form(stored, salt_encoding="base64"), PASSWORD, "base64")


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        ("scrypt:32768:8:1$salt$" + "0" * 128, "scrypt"),
        ("pbkdf2:sha512:1000$salt$" + "0" * 128, "sha512"),
        ("pbkdf2:sha1:1000$salt$" + "0" * 40, "sha1"),
        ("pbkdf2:sha256$salt$" + "0" * 64, "iterations"),
        ("pbkdf2:sha256:1000$salt$" + "0" * 62, "32 bytes"),
        ("pbkdf2:sha256:1000$salt$" + "0" * 63, "32 bytes"),
        ("pbkdf2_sha1$1000$salt$AAAA", "sha1"),
        ("pbkdf2_sha256$1000$salt$AAAA", "32 bytes"),
        ("pbkdf2_sha256$1000$salt$AAAAA", "32 bytes"),
        ("argon2$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA", "Argon2"),
        ("$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA", "Argon2"),
        ("bcrypt_sha256$$2b$12$x", "bcrypt"),
        ("$2b$12$x", "bcrypt"),
    ],
)
def test_what_does_not_convert_exactly_is_refused(stored: str, reason: str) -> None:
    """With the reason; never with what it held."""
    with pytest.raises(ExchangeHashError, match=reason) as refused:
        exchange_form(stored, salt_encoding="text")
    assert stored[-20:] not in str(refused.value)


def test_djangos_mark_for_no_password_is_none() -> None:
    assert exchange_form("!4uNhCsVjHIBvyGDy8G6vZpmRP", salt_encoding="text") is None


@given(st.text())
def test_any_text_is_converted_left_or_refused(text: str) -> None:
    """Nothing else is raised; what is not recognised is judged as an exchange hash."""
    try:
        exchange_form(text, salt_encoding="hex")
    except ExchangeHashError:
        return
