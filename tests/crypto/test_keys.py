"""Configured keys: what a setting may hold, and what is derived from a key."""

import base64
import hashlib
import hmac
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idsync.crypto.keys import derive, key_id, parse_keys
from idsync.errors import ConfigurationError

SETTING = "IDSYNC_TOKEN_KEYS"
KEY = bytes(range(32))
keys = st.binary(min_size=32, max_size=32)


def spelled(key: bytes) -> str:
    return base64.urlsafe_b64encode(key).decode()


@given(st.lists(keys, min_size=1, max_size=5, unique=True), st.booleans(), st.booleans())
def test_keys_are_read_in_order(given_keys: list[bytes], padded: bool, as_json: bool) -> None:
    """A list or its JSON text gives the keys newest first, with padding or without."""
    texts = [spelled(key) if padded else spelled(key).rstrip("=") for key in given_keys]
    value = json.dumps(texts) if as_json else tuple(texts)
    assert parse_keys(SETTING, value) == tuple(given_keys)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "must be a list"),
        (spelled(KEY), "must be a list"),
        ('{"key": "value"}', "must be a list"),
        ('["unfinished', "must be a list"),
        (KEY, "must be a list"),
        ([], "at least one"),
        ("[]", "at least one"),
        ([KEY], "key 1 is not"),
        ([""], "key 1 is not"),
        ([spelled(KEY), 5], "key 2 is not"),
        ([spelled(KEY[:31])], "key 1 is not"),
        ([spelled(KEY + b"x")], "key 1 is not"),
        ([spelled(KEY) + "="], "key 1 is not"),
        ([spelled(KEY) + "\n"], "key 1 is not"),
        ([base64.b64encode(b"\xff" * 32).decode()], "key 1 is not"),
        ([spelled(KEY).rstrip("=")[:-1] + "9"], "key 1 is not"),
        ([spelled(KEY), spelled(KEY).rstrip("=")], "key 2 repeats key 1"),
    ],
)
def test_a_wrong_setting_is_explained_without_showing_it(value: object, problem: str) -> None:
    """The message names the setting, the fault and the remedy, and shows nothing of a key."""
    with pytest.raises(ConfigurationError) as refused:
        parse_keys(SETTING, value)
    message = str(refused.value)
    assert message.startswith(f"{SETTING}: ")
    assert problem in message
    assert "secrets.token_urlsafe(32)" in message
    assert spelled(KEY)[:8] not in message
    assert refused.value.__context__ is None


def test_derivation_is_hkdf_sha256() -> None:
    """A derived key is RFC 5869's, computed here by hand from HMAC alone."""
    extracted = hmac.digest(bytes(32), KEY, hashlib.sha256)
    expanded = hmac.digest(extracted, b"idsync key for sealing\x01", hashlib.sha256)
    assert derive(KEY, "sealing") == expanded


def test_derivation_never_changes() -> None:
    """Values written down: another derivation would end every token and sealed value there is."""
    assert derive(KEY, "sealing").hex() == (
        "5520e7bd32d815c1adf243bf2263cb75150d9e940e8c6581b5a5e8156d616636"
    )
    assert key_id(KEY).hex() == "b70e175f"


@given(keys, st.text(), st.text())
def test_each_purpose_has_its_own_key(key: bytes, purpose: str, other: str) -> None:
    """Different purposes give different keys, and none begins with the public id."""
    assert (derive(key, purpose) == derive(key, other)) == (purpose == other)
    assert derive(key, purpose)[:4] != key_id(key)


@pytest.mark.parametrize("key", [b"", KEY[:16], KEY * 2])
def test_a_key_of_another_length_is_refused(key: bytes) -> None:
    """Only 32-byte keys are worked with, however they came in."""
    with pytest.raises(ConfigurationError):
        derive(key, "anything")
    with pytest.raises(ConfigurationError):
        key_id(key)
