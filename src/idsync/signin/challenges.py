"""Challenges for passkeys: signed, not stored; for one purpose, ten minutes and one use."""

from __future__ import annotations

import hashlib
import time

from flask import session

from idsync.crypto import identifiers
from idsync.crypto.references import ReferenceSigner
from idsync.errors import TooManyTries
from idsync.signin.limits import CLOCKS_APART, TryLimit

LIFETIME = 600
"""Seconds between showing a page and the person's touch of the key."""

FIELD = "_idsync_browser"

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
        return self._signer.sign(identifiers.new_id() + at + _bound(purpose)).encode()

    def is_ours(self, challenge: bytes, purpose: str) -> bool:
        """Whether a challenge was made here, for this purpose, not long ago."""
        payload = self._signer.read(challenge.decode("latin-1"))
        if payload is None or payload[_RANDOM + _TIME :] != _bound(purpose):
            return False
        at = int.from_bytes(payload[_RANDOM : _RANDOM + _TIME], "big")
        return -CLOCKS_APART <= time.time() - at <= LIFETIME

    def use_up(self, challenge: bytes) -> bool:
        """Whether this is the first use; of two at once, one is. Commits."""
        try:
            self._uses.take(challenge.decode("latin-1"))
        except TooManyTries:
            return False
        return True


def _bound(purpose: str) -> bytes:
    """The purpose and the browser it is for: an answer got elsewhere is worth nothing here."""
    browser = session.setdefault(FIELD, identifiers.new_id().hex())
    return hashlib.sha256(f"{browser}\0{purpose}".encode()).digest()
