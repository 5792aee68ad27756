"""Client secrets and random identifiers."""

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idsync.crypto import identifiers

any_text = st.text(st.characters())


def test_client_secrets_are_safe_in_basic_authentication() -> None:
    """A secret can be spotted by scanners and holds no character that needs encoding."""
    assert re.fullmatch(r"ids_[A-Za-z0-9_-]{43}", identifiers.new_client_secret())


@given(any_text)
def test_a_secret_matches_its_own_digest(secret: str) -> None:
    """Any text has a digest of 64 lowercase hex digits and matches it."""
    assert re.fullmatch(r"[0-9a-f]{64}", identifiers.digest(secret))
    assert identifiers.matches(secret, identifiers.digest(secret))


@given(any_text, any_text)
def test_another_secret_or_any_other_digest_does_not_match(secret: str, other: str) -> None:
    """Equal texts match, different texts do not, and a strange digest raises nothing."""
    assert identifiers.matches(other, identifiers.digest(secret)) == (secret == other)
    assert not identifiers.matches(secret, other)
    assert not identifiers.matches(secret, identifiers.digest(secret).upper() + other)


def test_the_digest_is_sha256() -> None:
    """Stored digests stay valid: the plain SHA-256 of the secret's UTF-8 (FIPS 180 "abc")."""
    assert identifiers.digest("abc") == hashlib.sha256(b"abc").hexdigest()
    assert identifiers.digest("abc").startswith("ba7816bf8f01cfea")


def test_identifiers_have_their_announced_shape() -> None:
    """Lengths and alphabets are what tables and addresses are made for."""
    assert re.fullmatch(r"app_[A-Za-z0-9]{24}", identifiers.new_client_id("app_"))
    assert re.fullmatch(r"[0-9a-f]{32}", identifiers.new_subject())
    assert len(identifiers.new_epoch()) == 8
    assert len(identifiers.new_id()) == 16


@pytest.mark.parametrize(
    "make",
    [
        identifiers.new_client_secret,
        identifiers.new_subject,
        identifiers.new_epoch,
        identifiers.new_id,
        lambda: identifiers.new_client_id(""),
    ],
)
def test_nothing_is_made_twice(make: object) -> None:
    """A thousand of each are all different."""
    assert callable(make)
    assert len({make() for _ in range(1000)}) == 1000
