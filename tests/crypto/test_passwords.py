"""Password verifiers: one kind per account, alike in cost, renewed when too weak."""

import threading
from typing import Any
from unittest.mock import Mock, patch

import pytest
from argon2 import PasswordHasher
from argon2.exceptions import VerificationError
from argon2.low_level import Type
from hypothesis import given, settings
from hypothesis import strategies as st

from idsync.crypto.exchange import (
    MAX_PASSWORD_LENGTH,
    ExchangeHash,
    ExchangeHashError,
    UnusablePassword,
)
from idsync.crypto.passwords import Passwords
from idsync.errors import ConfigurationError

CHEAP: dict[str, Any] = {
    "exchange": True,
    "iterations": 100,
    "min_iterations": 10,
    "max_iterations": 1000,
    "salt_encoding": "text",
    "argon2_time_cost": 2,
    "argon2_memory_kib": 32,
    "argon2_parallelism": 1,
}
PBKDF2 = "idsync.crypto.exchange.hashlib.pbkdf2_hmac"


def passwords(**changes: Any) -> Passwords:
    return Passwords(**{**CHEAP, **changes})


def exchange_hash(plain: str, iterations: int) -> str:
    return str(ExchangeHash.create(plain, iterations=iterations))


@pytest.mark.parametrize(
    ("exchange", "administrator", "beginning"),
    [
        (True, False, "pbkdf2$100$"),
        (True, True, "$argon2id$v=19$m=32,t=2,p=1$"),
        (False, False, "$argon2id$v=19$m=32,t=2,p=1$"),
        (False, True, "$argon2id$v=19$m=32,t=2,p=1$"),
    ],
)
def test_services_never_learn_an_administrators_hash(
    exchange: bool, administrator: bool, beginning: str
) -> None:
    """Exchange hashes are for ordinary accounts with exchange on; all others have Argon2id."""
    maker = passwords(exchange=exchange)
    verifier = maker.new_verifier("correct horse", administrator=administrator)
    assert verifier.startswith(beginning)
    assert maker.is_exchange(verifier) == beginning.startswith("pbkdf2")
    assert not maker.needs_renewal(verifier, administrator=administrator)


@given(st.text(max_size=40), st.text(max_size=40), st.booleans(), st.booleans())
@settings(max_examples=50)
def test_a_verifier_knows_its_password_alone(
    plain: str, other: str, administrator: bool, exchange_now: bool
) -> None:
    """Both kinds are checked whatever the preference is by now."""
    verifier = passwords().new_verifier(plain, administrator=administrator)
    checker = passwords(exchange=exchange_now)
    assert checker.verify(verifier, plain)
    assert checker.verify(verifier, other) == (plain == other)


@pytest.mark.parametrize("salt_encoding", ["text", "hex", "base64"])
def test_the_salt_encoding_is_kept_throughout(salt_encoding: str) -> None:
    """What is made under one encoding is checked, and taken from services, under the same."""
    maker = passwords(salt_encoding=salt_encoding)
    verifier = maker.new_verifier("correct horse", administrator=False)
    assert maker.verify(verifier, "correct horse")
    assert maker.read_exchange(verifier) == verifier


@pytest.mark.parametrize("exchange", [True, False])
@pytest.mark.parametrize("administrator", [True, False])
@pytest.mark.parametrize("plain", ["x" * (MAX_PASSWORD_LENGTH + 1), "half \ud800"])
def test_an_unusable_password_is_refused_or_simply_wrong(
    exchange: bool, administrator: bool, plain: str
) -> None:
    """One rule for both kinds of verifier, and the same quick answer for an unknown person."""
    maker = passwords(exchange=exchange)
    with pytest.raises(UnusablePassword):
        maker.new_verifier(plain, administrator=administrator)
    stored = maker.new_verifier("x", administrator=administrator)
    with patch.object(maker, "_check", side_effect=AssertionError):
        assert not maker.verify(stored, plain)
        assert not maker.verify(None, plain)


def test_an_unknown_person_costs_a_whole_pbkdf2() -> None:
    """With exchange on, no verifier means as many rounds as a wrong password."""
    maker = passwords()
    maker.verify(None, "first, which makes the dummy")
    with patch(PBKDF2, return_value=bytes(32)) as pbkdf2:
        assert not maker.verify(None, "correct horse")
    assert rounds(pbkdf2) == 100


def test_an_unknown_person_costs_a_whole_argon2() -> None:
    """With exchange off, no verifier means one Argon2id check at the configured cost."""
    maker = passwords(exchange=False)
    assert not maker.verify(None, "first, which makes the dummy")
    with patch.object(PasswordHasher, "verify", return_value=True) as argon2:
        assert not maker.verify(None, "correct horse")
    (dummy, password), _ = argon2.call_args
    assert dummy.startswith("$argon2id$v=19$m=32,t=2,p=1$")
    assert password == b"correct horse"


@pytest.mark.parametrize("iterations", [10, 99, 100])
def test_a_cheaper_hash_from_elsewhere_refuses_as_slowly(iterations: int) -> None:
    """A wrong password costs the configured rounds, or a quick no would tell who has an account."""
    maker = passwords()
    maker.verify(None, "first, which makes the dummies")
    verifier = exchange_hash("correct horse", iterations)
    with patch(PBKDF2, return_value=bytes(32)) as pbkdf2:
        assert not maker.verify(verifier, "wrong")
    assert rounds(pbkdf2) == 100


UNREADABLE = [
    "",
    "plain",
    "$argon2id$v=19$m=32,t=2,p=one$c2FsdHNhbHQ$aGFzaA",
    "pbkdf2$",
    "pbkdf2$0$s$00",
    "pbkdf2$100$salt$nothing",
    "$argon2id$",
    "$argon2id$v=19",
    "$argon3$v=19$m=32,t=2,p=1$c2FsdHNhbHQ$aGFzaA",
    "$2b$12$abcdefghijklmnopqrstuv",
    "scrypt:32768:8:1$salt$00",
    "ключ",
]


@pytest.mark.parametrize("verifier", UNREADABLE)
def test_an_unreadable_verifier_matches_nothing_and_wants_renewal(verifier: str) -> None:
    """It is as if there were none, in answer and in cost."""
    maker = passwords()
    maker.verify(None, "first, which makes the dummy")
    with patch(PBKDF2, return_value=bytes(32)) as pbkdf2:
        assert not maker.verify(verifier, "plain")
    assert rounds(pbkdf2) == 100
    assert maker.needs_renewal(verifier, administrator=False)
    assert maker.needs_renewal(verifier, administrator=True)


def test_want_of_memory_is_no_wrong_password() -> None:
    """When Argon2 cannot work, the failure is heard instead of counting against the person."""
    maker = passwords()
    verifier = maker.new_verifier("correct horse", administrator=True)
    failure = VerificationError("Memory allocation error")
    with (
        patch.object(PasswordHasher, "verify", side_effect=failure),
        pytest.raises(VerificationError),
    ):
        maker.verify(verifier, "correct horse")


def test_the_dummies_are_made_once_by_many_threads() -> None:
    """One of each kind, at the first need and never again, however many ask at the same moment."""
    maker = passwords()
    start = threading.Barrier(8)

    def ask() -> None:
        start.wait()
        maker.verify(None, "correct horse")

    with patch.object(maker, "new_verifier", wraps=maker.new_verifier) as new_verifier:
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert new_verifier.call_count == 2


def test_a_refusal_costs_one_check_of_each_kind() -> None:
    """Time tells neither an administrator's account nor an unknown one from anybody else's."""
    maker = passwords()
    administrator = maker.new_verifier("correct horse", administrator=True)
    person = maker.new_verifier("correct horse", administrator=False)
    maker.verify(None, "first, which makes the dummies")
    for verifier in (None, person, administrator):
        with (
            patch(PBKDF2, return_value=bytes(32)) as pbkdf2,
            patch.object(maker, "_check_argon2", return_value=False) as argon2,
        ):
            assert not maker.verify(verifier, "wrong")
        assert rounds(pbkdf2) == 100
        assert argon2.call_count == 1


def test_nobody_signs_in_with_the_dummys_password() -> None:
    """Even its own password does not match: there is no account behind it."""
    maker = passwords()
    with patch("idsync.crypto.passwords.secrets.token_urlsafe", return_value="guessed"):
        assert not maker.verify(None, "guessed")
    assert not maker.verify(None, "guessed")
    assert not maker.verify("unreadable", "guessed")


@pytest.mark.parametrize(
    ("iterations", "renewed"), [(10, True), (99, True), (100, False), (101, False), (5000, False)]
)
def test_only_a_weaker_exchange_hash_is_renewed(iterations: int, renewed: bool) -> None:
    """A service's hash with more rounds than ours stays as it is."""
    verifier = exchange_hash("x", iterations)
    assert passwords().needs_renewal(verifier, administrator=False) == renewed


@pytest.mark.parametrize("administrator", [True, False])
@pytest.mark.parametrize("exchange", [True, False])
def test_a_verifier_of_the_other_kind_is_renewed(administrator: bool, exchange: bool) -> None:
    """A new administrator leaves the exchange at the next sign-in, and the other way round."""
    maker = passwords(exchange=exchange)
    wanted_exchange = exchange and not administrator
    other = passwords(exchange=not wanted_exchange).new_verifier("x", administrator=False)
    assert maker.needs_renewal(other, administrator=administrator)


@pytest.mark.parametrize(
    ("stored", "renewed"),
    [
        ({}, False),
        ({"time_cost": 1}, True),
        ({"time_cost": 3}, False),
        ({"memory_cost": 16}, True),
        ({"memory_cost": 64}, False),
        ({"parallelism": 2}, False),
        ({"hash_len": 16}, True),
        ({"salt_len": 8}, True),
        ({"type": Type.I}, True),
        ({"type": Type.D}, True),
    ],
)
def test_only_a_weaker_argon2_hash_is_renewed(stored: dict[str, Any], renewed: bool) -> None:
    """Fewer passes, less memory, a shorter salt or hash, or another type than Argon2id."""
    configured = {"time_cost": 2, "memory_cost": 32, "parallelism": 1}
    verifier = PasswordHasher(**{**configured, **stored}).hash("x")
    maker = passwords()
    assert maker.verify(verifier, "x")
    assert maker.needs_renewal(verifier, administrator=True) == renewed


def test_narrower_limits_lock_nobody_out() -> None:
    """The range is for hashes that come in; those already stored are checked all the same."""
    maker = passwords()
    for iterations in (1, 5000):
        verifier = exchange_hash("correct horse", iterations)
        assert maker.verify(verifier, "correct horse")
        with pytest.raises(ExchangeHashError):
            maker.read_exchange(verifier)


def test_a_hash_from_a_service_is_stored_in_canonical_form() -> None:
    """Base64 becomes lowercase hex, so that the same hash compares as the same text."""
    text = "pbkdf2$10$salt$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    assert passwords().read_exchange(text) == f"pbkdf2$10$salt${'00' * 32}"
    with pytest.raises(ExchangeHashError, match="hex"):
        passwords(salt_encoding="hex").read_exchange(text)


@pytest.mark.parametrize(
    "changes",
    [
        {"iterations": 9},
        {"iterations": 1001},
        {"min_iterations": 0},
        {"max_iterations": 2**31},
        {"salt_encoding": "base32"},
        {"argon2_time_cost": 0},
        {"argon2_parallelism": 0},
        {"argon2_parallelism": 8},
    ],
)
def test_contradicting_settings_are_refused_at_start(changes: dict[str, Any]) -> None:
    """A cost that cannot work is found before anybody signs in."""
    with pytest.raises(ConfigurationError):
        passwords(**changes)


def rounds(pbkdf2: Mock) -> int:
    return sum(call.args[3] for call in pbkdf2.call_args_list)
