"""Signed references: text that only this service can have made, carrying a few readable bytes.

Codes, tokens and cookies are such references. The payload is not secret, only unforgeable.
The signature is itsdangerous' HMAC-SHA256; the strictness about spelling is ours, because its
decoder ignores what is not base64, and a token must have one spelling to be told apart.
"""

import hashlib
import re
from collections.abc import Sequence

from itsdangerous import BadData, Signer
from itsdangerous.encoding import base64_decode, base64_encode

from idsync.crypto.keys import derive
from idsync.errors import ConfigurationError, IdSyncError

# Characters in the longest reference made or read. Above every token and pending request of an
# honest application, below what web servers take in one line (gunicorn, nginx: 8 KiB).
MAX_REFERENCE_LENGTH = 8192

_BODY = re.compile(r"(?P<payload>[A-Za-z0-9_-]*)\.(?P<signature>[A-Za-z0-9_-]+)")


class ReferenceTooLong(IdSyncError):
    """The payload is too long to be signed as a reference that can be read again."""


class ReferenceSigner:
    """Signs payloads for one purpose and reads them back.

    ``keys`` are configured keys, newest first: the newest signs, all are accepted.
    ``purpose`` keeps references of one kind from passing as another's. ``prefix``, ASCII, is
    written in front for people and secret scanners (``at_``) and is signed as well.

    Raises ``ConfigurationError`` without a key.
    """

    def __init__(self, keys: Sequence[bytes], purpose: str, prefix: str = "") -> None:
        if not keys:
            raise ConfigurationError(f"Signing references for {purpose} needs at least one key.")
        self._prefix = prefix
        self._signer = Signer(
            # itsdangerous wants the newest key last, our settings have it first.
            [derive(key, f"references: {purpose}") for key in reversed(keys)],
            salt=prefix,
            key_derivation="hmac",
            digest_method=hashlib.sha256,
        )

    def sign(self, payload: bytes) -> str:
        """Return ``<prefix><payload>.<signature>``, both in URL-safe base64 without padding.

        Raises ``ReferenceTooLong`` when that exceeds 8192 characters.
        """
        text = self._signer.sign(self._prefix.encode() + base64_encode(payload)).decode()
        if len(text) > MAX_REFERENCE_LENGTH:
            raise ReferenceTooLong(
                f"A signed reference may have at most {MAX_REFERENCE_LENGTH} characters;"
                f" this one would have {len(text)}."
            )
        return text

    def read(self, text: str) -> bytes | None:
        """Return the payload of a reference that ``sign`` made with one of the keys, else None.

        Anything may be passed; nothing raises. Only the exact text ``sign`` returned is read.
        """
        if len(text) > MAX_REFERENCE_LENGTH or not text.startswith(self._prefix):
            return None
        body = _BODY.fullmatch(text, len(self._prefix))
        if body is None or _decode_exactly(body["signature"]) is None:
            return None
        payload = _decode_exactly(body["payload"])
        return payload if self._signer.validate(text) else None


def _decode_exactly(text: str) -> bytes | None:
    """Decode base64 that is spelled as our encoder spells it, down to the unused last bits."""
    try:
        decoded = base64_decode(text)
    except BadData:
        return None
    return decoded if base64_encode(decoded).decode() == text else None
