"""Password verifiers: what is stored of a password so that it can be checked.

An account has one verifier. With exchange on it is the exchange hash, which services may read;
with exchange off, and always for administrators, it is Argon2id (RFC 9106) in PHC text form.
"""

import secrets
from threading import Lock

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import InvalidHashError, VerifyMismatchError
from argon2.low_level import ARGON2_VERSION, Type

from idsync.crypto.exchange import (
    LARGEST_ITERATIONS,
    SALT_ENCODINGS,
    ExchangeHash,
    ExchangeHashError,
    UnusablePassword,
    encode_password,
    is_exchange_hash,
)
from idsync.crypto.foreign_hashes import exchange_form
from idsync.errors import ConfigurationError

# Bytes (RFC 9106 §3.1 and §4: a 128-bit salt, a 256-bit tag).
_ARGON2_SALT_LENGTH = 16
_ARGON2_HASH_LENGTH = 32


class _UnreadableVerifier(Exception):
    """A stored verifier is of no kind made here."""


class Passwords:
    """Makes and checks verifiers by one set of cost settings.

    ``exchange``: whether accounts carry exchange hashes. ``iterations``: PBKDF2 rounds of our own
    exchange hashes; ``min_iterations`` and ``max_iterations``: what is accepted from services.
    ``salt_encoding``: ``text``, ``hex`` or ``base64``, for all exchange hashes. The Argon2 costs
    are passes, KiB of memory and lanes.

    Raises ``ConfigurationError`` when the settings contradict each other.
    """

    def __init__(
        self,
        *,
        exchange: bool,
        iterations: int,
        min_iterations: int,
        max_iterations: int,
        salt_encoding: str,
        argon2_time_cost: int,
        argon2_memory_kib: int,
        argon2_parallelism: int,
    ) -> None:
        if not 1 <= min_iterations <= iterations <= max_iterations <= LARGEST_ITERATIONS:
            raise ConfigurationError(
                f"The PBKDF2 iterations ({iterations}) must lie within the accepted range"
                f" ({min_iterations} to {max_iterations})."
            )
        if salt_encoding not in SALT_ENCODINGS:
            raise ConfigurationError(
                f"The PBKDF2 salt encoding must be one of {', '.join(SALT_ENCODINGS)}."
            )
        if min(argon2_time_cost, argon2_parallelism) < 1 or (
            argon2_memory_kib < 8 * argon2_parallelism
        ):
            raise ConfigurationError(
                "Argon2 needs at least one pass, one lane, and 8 KiB of memory per lane."
            )
        self._exchange = exchange
        self._iterations = iterations
        self._min_iterations = min_iterations
        self._max_iterations = max_iterations
        self._salt_encoding = salt_encoding
        self._argon2 = PasswordHasher(
            time_cost=argon2_time_cost,
            memory_cost=argon2_memory_kib,
            parallelism=argon2_parallelism,
            hash_len=_ARGON2_HASH_LENGTH,
            salt_len=_ARGON2_SALT_LENGTH,
            type=Type.ID,
        )
        self._dummy_verifiers: list[str] = []
        self._dummy_lock = Lock()

    def new_verifier(self, plain: str, *, administrator: bool) -> str:
        """Hash a password for storing: an exchange hash, or Argon2id in PHC text form.

        Raises ``UnusablePassword`` over 1024 characters or with a lone surrogate.
        """
        if self._prefers_exchange(administrator):
            created = ExchangeHash.create(
                plain, iterations=self._iterations, salt_encoding=self._salt_encoding
            )
            return str(created)
        return self._argon2.hash(encode_password(plain))

    def read_exchange(self, text: str) -> str:
        """Return the canonical form of an exchange hash a service sent, ready for storing.

        Raises ``ExchangeHashError`` for one that is malformed, out of the accepted range of
        iterations, or salted in another encoding than ours.
        """
        parsed = ExchangeHash.parse(
            text,
            min_iterations=self._min_iterations,
            max_iterations=self._max_iterations,
            salt_encoding=self._salt_encoding,
        )
        return str(parsed)

    def read_foreign(self, text: str) -> str | None:
        """The same for a hash that may be written as Werkzeug or Django does.

        None where it says that there is no password. Raises ``ExchangeHashError``.
        """
        written = exchange_form(text, salt_encoding=self._salt_encoding)
        return None if written is None else self.read_exchange(written)

    def verify(self, verifier: str | None, plain: str) -> bool:
        """Tell whether ``plain`` is the password of a stored verifier of either kind.

        A refusal always costs one check of each kind in use: for an unknown person, an account
        without a password, an exchange hash and an administrator's Argon2id alike, so time tells
        neither who has an account nor who is an administrator. A password that cannot be hashed
        is False at once, for everybody.

        Raises argon2's ``VerificationError`` when Argon2 cannot do its work, above all for want
        of memory: that is no wrong password.
        """
        try:
            password = encode_password(plain)
        except UnusablePassword:
            return False
        spent: str | None = verifier
        try:
            if self._check(verifier, plain, password):
                return True
        except _UnreadableVerifier:
            spent = None
        for dummy in self._dummies():
            if spent is None or self.is_exchange(dummy) != self.is_exchange(spent):
                self._check(dummy, plain, password)
        return False

    def needs_renewal(self, verifier: str, *, administrator: bool) -> bool:
        """Tell whether a verifier should be made anew when its password is next at hand.

        True when it is not of the kind this account should have, or is weaker than what is
        configured. One that is stronger stays.
        """
        prefers_exchange = self._prefers_exchange(administrator)
        if self.is_exchange(verifier) != prefers_exchange:
            return True
        try:
            if prefers_exchange:
                return self._stored_exchange_hash(verifier).iterations < self._iterations
            return self._is_weaker_argon2(verifier)
        except (ExchangeHashError, InvalidHashError):
            return True

    @staticmethod
    def is_exchange(verifier: str) -> bool:
        """Tell whether a stored verifier is an exchange hash, which services may read."""
        return is_exchange_hash(verifier)

    def _prefers_exchange(self, administrator: bool) -> bool:
        return self._exchange and not administrator

    def _check(self, verifier: str | None, plain: str, password: bytes) -> bool:
        if verifier is None:
            raise _UnreadableVerifier
        if self.is_exchange(verifier):
            return self._check_exchange_hash(verifier, plain)
        return self._check_argon2(verifier, password)

    def _check_exchange_hash(self, verifier: str, plain: str) -> bool:
        try:
            stored = self._stored_exchange_hash(verifier)
        except ExchangeHashError:
            raise _UnreadableVerifier from None
        if stored.verify(plain, salt_encoding=self._salt_encoding):
            return True
        # A hash from elsewhere may be cheaper than ours. The difference is spent on a wrong
        # password, or a quick refusal would tell that this account exists.
        missing = self._iterations - stored.iterations
        if self._exchange and missing > 0:
            remainder = ExchangeHash(missing, stored.salt, stored.digest)
            remainder.verify(plain, salt_encoding=self._salt_encoding)
        return False

    def _check_argon2(self, verifier: str, password: bytes) -> bool:
        try:
            extract_parameters(verifier)
        except InvalidHashError:
            raise _UnreadableVerifier from None
        try:
            return self._argon2.verify(verifier, password)
        except VerifyMismatchError:
            return False

    def _stored_exchange_hash(self, verifier: str) -> ExchangeHash:
        # The accepted range is for new hashes. Narrowing it must not lock out those who were
        # admitted under a wider one.
        return ExchangeHash.parse(
            verifier,
            min_iterations=1,
            max_iterations=LARGEST_ITERATIONS,
            salt_encoding=self._salt_encoding,
        )

    def _is_weaker_argon2(self, verifier: str) -> bool:
        stored = extract_parameters(verifier)
        return (
            stored.type is not Type.ID
            or stored.version < ARGON2_VERSION
            or stored.time_cost < self._argon2.time_cost
            or stored.memory_cost < self._argon2.memory_cost
            or stored.salt_len < _ARGON2_SALT_LENGTH
            or stored.hash_len < _ARGON2_HASH_LENGTH
        )

    def _dummies(self) -> list[str]:
        """A verifier of nobody's password for each kind in use, made once."""
        with self._dummy_lock:
            if not self._dummy_verifiers:
                kinds = (False, True) if self._exchange else (True,)
                self._dummy_verifiers = [
                    self.new_verifier(secrets.token_urlsafe(), administrator=administrator)
                    for administrator in kinds
                ]
            return self._dummy_verifiers
