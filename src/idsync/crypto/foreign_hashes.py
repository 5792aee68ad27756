"""Password hashes of other frameworks that are PBKDF2-HMAC-SHA256 like ours, written differently.

Only what converts exactly is converted: afterwards the same password still fits. Everything else
is refused with the reason, because nobody could sign in with it and nobody would know why.
"""

from __future__ import annotations

import base64
import binascii
import re

from idsync.crypto.exchange import ExchangeHash, ExchangeHashError

_WERKZEUG = re.compile(r"pbkdf2:(\w+)(?::(\d{1,10}))?\$([^$]+)\$([0-9a-f]+)")
_DJANGO = re.compile(r"pbkdf2_(\w+)\$(\d{1,10})\$([^$]+)\$([A-Za-z0-9+/]+=*)")
# Django marks the account of somebody who cannot sign in by password with this and random letters.
_DJANGO_UNUSABLE = "!"

_OTHERS = {
    "scrypt": "scrypt",
    "argon2": "Argon2",
    "$argon2": "Argon2",
    "bcrypt": "bcrypt",
    "$2": "bcrypt",
}


def exchange_form(text: str, *, salt_encoding: str) -> str | None:
    """A hash as Werkzeug or Django stores it, in the exchange format; any other text as it is.

    None where Django says that there is no password. Raises ExchangeHashError where it cannot be
    converted.
    """
    if text.startswith(_DJANGO_UNUSABLE):
        return None
    werkzeug, django = _WERKZEUG.fullmatch(text), _DJANGO.fullmatch(text)
    if werkzeug is not None:
        digest_name, iterations, salt, digest_text = werkzeug.groups()
        if iterations is None:
            raise ExchangeHashError(
                "This hash of Werkzeug does not say its iterations, which differ by version."
            )
        digest = bytes.fromhex(digest_text) if len(digest_text) % 2 == 0 else b""
    elif django is not None:
        digest_name, iterations, salt, digest_text = django.groups()
        try:
            digest = base64.b64decode(digest_text, validate=True)
        except binascii.Error:
            digest = b""
    else:
        for beginning, name in _OTHERS.items():
            if text.startswith(beginning):
                raise ExchangeHashError(f"{name} cannot be converted; only PBKDF2-SHA256 can.")
        return text
    if digest_name != "sha256":
        raise ExchangeHashError(f"PBKDF2 with {digest_name} cannot be converted; only SHA-256 can.")
    return str(ExchangeHash(int(iterations), _written(salt, salt_encoding), digest))


def _written(salt: str, encoding: str) -> str:
    """A salt that was hashed as its UTF-8 text, as our exchange hashes write one."""
    if encoding == "hex":
        return salt.encode().hex()
    if encoding == "base64":
        return base64.b64encode(salt.encode()).decode()
    return salt
