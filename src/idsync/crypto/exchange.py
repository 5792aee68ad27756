"""The password hash that services exchange: ``pbkdf2$<iterations>$<salt>$<hash>``.

The format is the contract's (section 2, Account, ``password``); the function is
PBKDF2-HMAC-SHA256 (RFC 8018 §5.2) with a 32-byte result. What the contract leaves open:
the hash is written in lowercase hex, and the salt goes into the function as its UTF-8 text unless
both sides agree on ``hex`` or ``base64``. Needs the standard library only, because services that
keep a copy of the accounts import it.
"""

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from typing import Self

from idsync.errors import ConfigurationError, IdSyncError

# Iterations of our own hashes: OWASP Password Storage Cheat Sheet, PBKDF2-HMAC-SHA256.
DEFAULT_ITERATIONS = 600_000
# Iterations accepted from others: fewer protect nobody, more let a caller buy our time.
DEFAULT_MIN_ITERATIONS = 10_000
DEFAULT_MAX_ITERATIONS = 2_000_000
# Iterations that any reader can compute: OpenSSL counts them in a signed 32-bit number.
LARGEST_ITERATIONS = 2**31 - 1

# Characters in the longest password hashed: far above what people type or managers make.
MAX_PASSWORD_LENGTH = 1024
# Characters in the longest salt: 64 bytes take 128 in hex.
MAX_SALT_LENGTH = 256

SALT_ENCODINGS = ("text", "hex", "base64")

_NAME = "pbkdf2"
_DIGEST_LENGTH = 32
# NIST SP 800-132 §5.1: at least 128 bits.
_SALT_BYTES = 16

_DECIMAL = re.compile(r"[1-9][0-9]*")
_PRINTABLE_SALT = re.compile(r"[!-#%-~]+")
_HEX_BYTES = re.compile(r"(?:[0-9A-Fa-f]{2})+")
_HEX_DIGEST = re.compile(r"[0-9a-f]{64}")


class ExchangeHashError(IdSyncError, ValueError):
    """A text is not an acceptable exchange hash. The message says why, never what it held."""


class UnusablePassword(IdSyncError, ValueError):
    """A password is too long to be hashed, or is not text that UTF-8 can express."""


@dataclass(frozen=True)
class ExchangeHash:
    """One hash in the exchange format.

    ``iterations`` counts PBKDF2 rounds, ``salt`` is the salt as written (1 to 256 printable ASCII
    characters without ``$`` and space), ``digest`` is 32 bytes. Raises ``ExchangeHashError`` for
    anything else.
    """

    iterations: int
    salt: str
    digest: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not 1 <= self.iterations <= LARGEST_ITERATIONS:
            raise ExchangeHashError(f"The iterations must be from 1 to {LARGEST_ITERATIONS}.")
        if len(self.salt) > MAX_SALT_LENGTH or not _PRINTABLE_SALT.fullmatch(self.salt):
            raise ExchangeHashError(
                f"The salt must be 1 to {MAX_SALT_LENGTH} printable ASCII characters"
                " without $ and space."
            )
        if len(self.digest) != _DIGEST_LENGTH:
            raise ExchangeHashError(f"The hash must have {_DIGEST_LENGTH} bytes.")

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        min_iterations: int = DEFAULT_MIN_ITERATIONS,
        max_iterations: int = DEFAULT_MAX_ITERATIONS,
        salt_encoding: str = "text",
    ) -> Self:
        """Read ``pbkdf2$<iterations>$<salt>$<hash>``.

        The hash may be lowercase hex or base64, standard or URL-safe, padded or not. The salt
        must be readable in ``salt_encoding``, or no password would ever match.

        Raises ``ExchangeHashError``, or ``ConfigurationError`` for an unknown salt encoding.
        """
        parts = text.split("$", 4)
        if len(parts) != 4 or parts[0] != _NAME:
            raise ExchangeHashError(
                "A password hash must have the form pbkdf2$<iterations>$<salt>$<hash>"
                " (PBKDF2-HMAC-SHA256). A plain password is never accepted."
            )
        iterations = _read_iterations(parts[1], min_iterations, max_iterations)
        parsed = cls(iterations, salt=parts[2], digest=_read_digest(parts[3]))
        _salt_bytes(parsed.salt, salt_encoding)
        return parsed

    @classmethod
    def create(
        cls,
        plain: str,
        *,
        iterations: int = DEFAULT_ITERATIONS,
        salt_encoding: str = "text",
    ) -> Self:
        """Hash a password with a new salt of 128 random bits, readable in ``salt_encoding``.

        The password's characters are hashed as given, without normalization.

        Raises ``UnusablePassword``, ``ExchangeHashError`` for impossible iterations, or
        ``ConfigurationError`` for an unknown salt encoding.
        """
        salt = secrets.token_hex(_SALT_BYTES)
        if salt_encoding == "base64":
            salt = base64.b64encode(secrets.token_bytes(_SALT_BYTES)).decode()
        password = encode_password(plain)
        # Refuses impossible iterations before the work, and holds what the work needs.
        empty = cls(iterations, salt, bytes(_DIGEST_LENGTH))
        return cls(iterations, salt, empty._compute(password, salt_encoding))

    def verify(self, plain: str, *, salt_encoding: str = "text") -> bool:
        """Tell whether this is the hash of ``plain``, comparing in constant time.

        False as well for a password that cannot be hashed and for a salt that is not in
        ``salt_encoding``. Raises ``ConfigurationError`` for an unknown salt encoding.
        """
        try:
            computed = self._compute(encode_password(plain), salt_encoding)
        except (UnusablePassword, ExchangeHashError):
            return False
        return hmac.compare_digest(computed, self.digest)

    def __str__(self) -> str:
        """Return the canonical text, with the hash in lowercase hex."""
        return f"{_NAME}${self.iterations}${self.salt}${self.digest.hex()}"

    def _compute(self, password: bytes, salt_encoding: str) -> bytes:
        salt = _salt_bytes(self.salt, salt_encoding)
        return hashlib.pbkdf2_hmac("sha256", password, salt, self.iterations, _DIGEST_LENGTH)


def encode_password(plain: str) -> bytes:
    """Return the bytes of a password that are hashed: its UTF-8, as given.

    Raises ``UnusablePassword`` over 1024 characters or with a lone surrogate.
    """
    if len(plain) > MAX_PASSWORD_LENGTH:
        raise UnusablePassword(f"A password may have at most {MAX_PASSWORD_LENGTH} characters.")
    if any("\ud800" <= character <= "\udfff" for character in plain):
        raise UnusablePassword("The password holds half a character (a lone surrogate).")
    return plain.encode()


def is_exchange_hash(text: str) -> bool:
    """Tell from its first word whether a stored verifier is meant as an exchange hash."""
    return text.startswith(f"{_NAME}$")


def _read_iterations(text: str, lowest: int, highest: int) -> int:
    if not _DECIMAL.fullmatch(text):
        raise ExchangeHashError("The iterations must be a whole number in plain digits, as 600000.")
    # A number with more digits than the limit is out of range; int() refuses very long ones.
    if len(text) > len(str(highest)) or not lowest <= int(text) <= highest:
        raise ExchangeHashError(f"The iterations must be from {lowest} to {highest}.")
    return int(text)


def _read_digest(text: str) -> bytes:
    digest = bytes.fromhex(text) if _HEX_DIGEST.fullmatch(text) else _decode_base64(text)
    if digest is None or len(digest) != _DIGEST_LENGTH:
        raise ExchangeHashError(
            f"The hash must be {_DIGEST_LENGTH} bytes in 64 lowercase hex digits, or in base64."
        )
    return digest


def _salt_bytes(salt: str, encoding: str) -> bytes:
    if encoding not in SALT_ENCODINGS:
        raise ConfigurationError(f"The salt encoding must be one of {', '.join(SALT_ENCODINGS)}.")
    if encoding == "text":
        return salt.encode()
    if encoding == "hex":
        decoded = bytes.fromhex(salt) if _HEX_BYTES.fullmatch(salt) else None
    else:
        decoded = _decode_base64(salt)
    if decoded is None:
        raise ExchangeHashError(f"The salt is not in {encoding}, which this service expects.")
    return decoded


def _decode_base64(text: str) -> bytes | None:
    """Decode standard or URL-safe base64, padded or not; None when it is spelled any other way."""
    bare = text.rstrip("=")
    padded = bare + "=" * (-len(bare) % 4)
    if text not in (bare, padded):
        return None
    # Translated only when it has no sign of the standard alphabet: a mixture stays undecodable.
    standard = padded if set("+/") & set(padded) else padded.replace("-", "+").replace("_", "/")
    try:
        decoded = base64.b64decode(standard, validate=True)
    except ValueError:
        return None
    # The last character may carry unused bits; only one spelling of them is read.
    return decoded if base64.b64encode(decoded).decode() == standard else None
