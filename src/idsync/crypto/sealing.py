"""Sealing: values that the database keeps and only the configured keys can read.

A sealed value (a blob) is bound to its purpose and subject: copied into another row or another
column it no longer opens. Layout of a blob, in bytes:

    1 format version | 4 key id | 12 nonce | ciphertext | 16 authentication tag

AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce, which its §8.3 allows for 2^32 values
per key.
"""

import os
from collections.abc import Sequence
from functools import cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from idsync.crypto.keys import KEY_ID_LENGTH, derive, key_id
from idsync.errors import ConfigurationError, IdSyncError

_VERSION = b"\x01"
_NONCE_LENGTH = 12
_TAG_LENGTH = 16
_NONCE_START = len(_VERSION) + KEY_ID_LENGTH
_CIPHERTEXT_START = _NONCE_START + _NONCE_LENGTH
_SHORTEST_BLOB = _CIPHERTEXT_START + _TAG_LENGTH


class UnsealError(IdSyncError):
    """A sealed value cannot be opened: it was altered, or moved from another place."""


class SealingKeyMissing(UnsealError):
    """The key a value was sealed with is not configured. ``key_id`` holds its 4-byte id."""

    def __init__(self, key_id: bytes) -> None:
        super().__init__(f"The sealing key {key_id.hex()} is not among the configured keys.")
        self.key_id = key_id


class Sealer:
    """Seals with the newest of ``keys`` and opens what any of them sealed.

    ``keys`` are configured keys, newest first. Raises ``ConfigurationError`` without a key, or
    when two keys have the same id (one chance in four thousand million: make another).
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys:
            raise ConfigurationError("Sealing needs at least one key.")
        self._ciphers = {key_id(key): AESGCM(derive(key, "sealing")) for key in keys}
        self._check_values = {key_id(key): derive(key, "sealing check value") for key in keys}
        if len(self._ciphers) != len(keys):
            raise ConfigurationError("Two sealing keys have the same id; replace the newer one.")

    @property
    def key_ids(self) -> tuple[bytes, ...]:
        """The 4-byte ids of the configured keys, newest first."""
        return tuple(self._ciphers)

    @property
    def header(self) -> bytes:
        """The bytes with which every blob begins that was sealed with the newest key."""
        return _VERSION + self.key_ids[0]

    def seal(self, plain: bytes, *, purpose: str, subject: str) -> bytes:
        """Return ``plain`` as a blob, 33 bytes longer, that opens for this purpose and subject."""
        cipher = self._ciphers[self.key_ids[0]]
        nonce = os.urandom(_NONCE_LENGTH)
        bound = _associated_data(purpose, subject)
        return self.header + nonce + cipher.encrypt(nonce, plain, bound)

    def unseal(self, blob: bytes, *, purpose: str, subject: str) -> bytes:
        """Return what was sealed.

        Raises ``SealingKeyMissing``, or ``UnsealError`` when the blob was altered or was
        sealed for another purpose or subject. No message holds any of the content.
        """
        cipher = self._ciphers.get(self.sealed_with(blob))
        if cipher is None:
            raise SealingKeyMissing(self.sealed_with(blob))
        nonce, ciphertext = blob[_NONCE_START:_CIPHERTEXT_START], blob[_CIPHERTEXT_START:]
        try:
            return cipher.decrypt(nonce, ciphertext, _associated_data(purpose, subject))
        except InvalidTag:
            raise UnsealError(
                f"A value sealed for {purpose} was altered, or was moved here from another place."
            ) from None

    def sealed_with(self, blob: bytes) -> bytes:
        """Return the 4-byte id of the key a blob was sealed with, configured or not.

        Raises ``UnsealError`` for bytes that are no blob.
        """
        if len(blob) < _SHORTEST_BLOB or not blob.startswith(_VERSION):
            raise UnsealError("A stored value is not a sealed value of a known format.")
        return blob[len(_VERSION) : _NONCE_START]

    def check_value(self, key_id: bytes) -> bytes:
        """Return the 32 bytes that only the key with this id yields, and that do not reveal it.

        Stored when a key is first used, they show at a later start that the configured key of
        that id is the same key. Raises ``SealingKeyMissing``.
        """
        try:
            return self._check_values[key_id]
        except KeyError:
            raise SealingKeyMissing(key_id) from None


def _associated_data(purpose: str, subject: str) -> bytes:
    """Join version, purpose and subject so that no two triples give the same bytes."""
    return _associated_purpose(purpose) + _with_length(subject)


@cache
def _associated_purpose(purpose: str) -> bytes:
    return _VERSION + _with_length(purpose)


def _with_length(text: str) -> bytes:
    encoded = text.encode()
    return len(encoded).to_bytes(4, "big") + encoded
