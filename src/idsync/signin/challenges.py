"""Challenges for passkeys: signed, not stored; for one purpose, ten minutes and one use."""

from __future__ import annotations

import time

from idsync.crypto import secrets
from idsync.crypto.references import ReferenceSigner
from idsync.errors import TooManyTries
from idsync.signin.limits import TryLimit

LIFETIME = 600
"""Seconds between showing a page and the person's touch of the key."""

_RANDOM, _TIME = 16, 8
"""Bytes: 128 bits are what WebAuthn Level 3 §13.4.3 asks for at least."""


class Challenges:
    """Makes challenges and uses them up. `uses` lets each be taken once."""

    def __init__(self, keys: tuple[bytes, ...], uses: TryLimit) -> None:
        self._signer = ReferenceSigner(keys, "idsync passkey challenge")
        self._uses = uses

    def make(self, purpose: str) -> bytes:
        """A new challenge."""
        at = int(time.time()).to_bytes(_TIME, "big")
        return self._signer.sign(secrets.new_row_id() + at + purpose.encode()).encode()

    def is_ours(self, challenge: bytes, purpose: str) -> bool:
        """Whether a challenge was made here, for this purpose, not long ago."""
        payload = self._signer.read(challenge.decode("latin-1"))
        if payload is None or payload[_RANDOM + _TIME :] != purpose.encode():
            return False
        at = int.from_bytes(payload[_RANDOM : _RANDOM + _TIME], "big")
        return 0 <= time.time() - at <= LIFETIME

    def use_up(self, challenge: bytes) -> bool:
        """Whether this is the first use; of two at once, one is. Commits."""
        try:
            self._uses.take(challenge.decode("latin-1"))
        except TooManyTries:
            return False
        return True
