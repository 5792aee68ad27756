"""Random identifiers and client secrets.

A client secret is 256 random bits made here, never chosen by a person, so one SHA-256 is enough
to store it: there is nothing to guess, and a slow hash would only slow every token request.
"""

import hashlib
import hmac
import secrets
import string

_CLIENT_SECRET_BYTES = 32
_CLIENT_ID_ALPHABET = string.ascii_letters + string.digits
# 24 characters of 62 are 142 bits.
_CLIENT_ID_CHARACTERS = 24
# RFC 6749 §10.10 asks for a chance of guessing of at most 2^-128.
_IDENTIFIER_BYTES = 16
# An epoch is only compared with another epoch of the same account.
_EPOCH_BYTES = 8


def new_client_secret() -> str:
    """Return ``ids_`` and 256 random bits: 47 characters of ``[A-Za-z0-9_-]``."""
    return "ids_" + secrets.token_urlsafe(_CLIENT_SECRET_BYTES)


def digest(secret: str) -> str:
    """Return the SHA-256 of a secret in 64 lowercase hex digits; any string has one."""
    return hashlib.sha256(_encode(secret)).hexdigest()


def matches(secret: str, stored: str) -> bool:
    """Tell in constant time whether ``stored`` is the digest of ``secret``; nothing raises."""
    return hmac.compare_digest(digest(secret).encode(), _encode(stored))


def new_client_id(prefix: str) -> str:
    """Return ``prefix`` and 24 random characters of ``[A-Za-z0-9]``."""
    chosen = (secrets.choice(_CLIENT_ID_ALPHABET) for _ in range(_CLIENT_ID_CHARACTERS))
    return prefix + "".join(chosen)


def new_epoch() -> bytes:
    """Return 8 random bytes: the value that everything an account holds must share."""
    return secrets.token_bytes(_EPOCH_BYTES)


def new_id() -> bytes:
    """Return 16 random bytes: a name for a row, a device or a challenge in a signed reference."""
    return secrets.token_bytes(_IDENTIFIER_BYTES)


def new_subject() -> str:
    """Return 128 random bits as 32 hex digits: an account's ``id`` and ``sub``.

    Hex, because base64 may begin with ``-`` and would read as an option on a command line.
    """
    return secrets.token_hex(_IDENTIFIER_BYTES)


def _encode(text: str) -> bytes:
    # A request can carry lone surrogates (JSON's \ud800); they must fail like any wrong secret.
    return text.encode("utf-8", "surrogatepass")
