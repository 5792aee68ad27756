"""The service's configured keys and what is derived from them.

A configured key is never used as it is. Each use derives its own key with HKDF-SHA256
(RFC 5869), so one configured key can serve several purposes without them touching.
"""

import base64
import json
import re

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from idsync.errors import ConfigurationError

# Bytes in a configured key and in a derived one: the strength of HMAC-SHA256 and AES-256.
KEY_LENGTH = 32

# Bytes in a key's public identifier: enough to tell a handful of keys apart.
KEY_ID_LENGTH = 4

# 32 bytes in URL-safe base64 are 43 characters and one of padding (RFC 4648 §5).
_KEY_TEXT = re.compile(r"[A-Za-z0-9_-]{43}=?")

_HOW_TO_MAKE_ONE = 'Make a key with: python3 -c "import secrets; print(secrets.token_urlsafe(32))"'


def parse_keys(setting: str, value: object) -> tuple[bytes, ...]:
    """Read a setting that lists keys, newest first.

    ``value`` is a list or tuple of strings, or the JSON text of such a list. Each string is
    32 bytes in URL-safe base64, with or without padding. The same bytes in another spelling
    count as a repetition.

    Raises ``ConfigurationError`` naming the setting and the position of the key at fault
    (1 is the newest), never the key.
    """
    entries = _read_list(value)
    if entries is None:
        raise _refusal(setting, 'must be a list of keys, newest first, such as ["…", "…"]')
    if not entries:
        raise _refusal(setting, "needs at least one key")
    keys: list[bytes] = []
    for position, entry in enumerate(entries, start=1):
        key = _decode_key(entry)
        if key is None:
            raise _refusal(
                setting,
                f"key {position} is not 32 bytes in URL-safe base64"
                " (43 characters of A-Z, a-z, 0-9, - and _)",
            )
        if key in keys:
            raise _refusal(setting, f"key {position} repeats key {keys.index(key) + 1}")
        keys.append(key)
    return tuple(keys)


def derive(key: bytes, purpose: str) -> bytes:
    """Derive the 32-byte key that serves ``purpose`` alone.

    Raises ``ConfigurationError`` when ``key`` is not 32 bytes.
    """
    return _expand(key, b"idsync key for " + purpose.encode(), KEY_LENGTH)


def key_id(key: bytes) -> bytes:
    """Return the 4 bytes by which a key is named in the open; they reveal nothing of the key.

    Raises ``ConfigurationError`` when ``key`` is not 32 bytes.
    """
    return _expand(key, b"idsync key id", KEY_ID_LENGTH)


def _expand(key: bytes, info: bytes, length: int) -> bytes:
    if len(key) != KEY_LENGTH:
        raise ConfigurationError(f"A key must have {KEY_LENGTH} bytes. {_HOW_TO_MAKE_ONE}")
    return HKDF(algorithm=SHA256(), length=length, salt=None, info=info).derive(key)


def _read_list(value: object) -> list[object] | None:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return list(value) if isinstance(value, (list, tuple)) else None


def _decode_key(entry: object) -> bytes | None:
    if not isinstance(entry, str) or not _KEY_TEXT.fullmatch(entry):
        return None
    text = entry.rstrip("=")
    key = base64.urlsafe_b64decode(text + "=")
    # The last character carries four of its six bits; a damaged one can decode all the same.
    return key if base64.urlsafe_b64encode(key).decode() == text + "=" else None


def _refusal(setting: str, problem: str) -> ConfigurationError:
    return ConfigurationError(f"{setting}: {problem}. {_HOW_TO_MAKE_ONE}")
