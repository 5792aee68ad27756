"""The keys that sign id_tokens."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from unittest import mock

import pytest
from flask import Flask

import hosting
from idsync.errors import InvalidValue, UnknownRecord
from idsync.oauth.signing_keys import ID_TOKEN_LIFETIME, KEPT_FOR, ROTATION_DELAY, state_of


@dataclass(frozen=True)
class Key:
    active_from: int
    algorithm: str = "RS256"
    retired_at: int | None = None


def untold(kid: str) -> None:
    """Nothing is written beside the change."""


@contextmanager
def later(seconds: float) -> Iterator[None]:
    with mock.patch("time.time", return_value=time.time() + seconds):
        yield


def test_a_key_s_life_in_words() -> None:
    """next, signs, kept for as long as what it signed is valid, withdrawn."""
    old, new = Key(0), Key(1000)
    keys = [new, Key(500, "ES256"), old]
    assert (state_of(new, keys, 999), state_of(old, keys, 999)) == ("next", "signs")
    assert (state_of(new, keys, 1000), state_of(old, keys, 1000)) == ("signs", "kept")
    assert state_of(old, keys, 1000 + ID_TOKEN_LIFETIME) == "kept"
    assert state_of(old, keys, 1000 + KEPT_FOR) == "withdrawn"
    assert state_of(Key(0, retired_at=5), keys, 10) == "retired"


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_a_first_key_signs_at_once_though_its_maker_s_clock_was_ahead(
    app: Flask, algorithm: str
) -> None:
    """Hosts of one service do not agree on the second; until then there is no other key."""
    keys = app.extensions["idsync"].signing_keys
    with app.app_context():
        with later(30):
            made = keys.current(algorithm)
        assert keys.current(algorithm) == made


def test_a_rotated_key_signs_only_after_everybody_knows_it(app: Flask) -> None:
    """Ten minutes after it was published."""
    keys = app.extensions["idsync"].signing_keys
    with app.app_context():
        before = keys.current("ES256").kid
        after = keys.rotate("ES256", untold)
        assert keys.current("ES256").kid == before
        assert after in {key["kid"] for key in keys.jwks()["keys"]}
        with later(ROTATION_DELAY + 1):
            assert keys.current("ES256").kid == after


def test_the_key_before_is_withdrawn_by_itself(app: Flask) -> None:
    """When nothing it signed is valid any more; as a hint an id_token does longer."""
    keys = app.extensions["idsync"].signing_keys
    with app.app_context():
        before = keys.current("RS256").kid
        keys.rotate("RS256", untold)

        def published() -> set[str]:
            return {key["kid"] for key in keys.jwks()["keys"]}

        with later(ROTATION_DELAY + ID_TOKEN_LIFETIME):
            assert before in published()
        with later(ROTATION_DELAY + KEPT_FOR + 1):
            assert before not in published()
            assert before in {key.kid for key in keys.accepted()}
            # Withdrawn is not forgotten: one that leaked is retired all the same.
            keys.retire(before, untold)
            assert before not in {key.kid for key in keys.accepted()}


def test_two_rotations_in_a_row_leave_one_key_that_signs(app: Flask) -> None:
    """The newest, when its time has come; the others are published meanwhile."""
    keys = app.extensions["idsync"].signing_keys
    with app.app_context():
        first = keys.current("RS256").kid
        second = keys.rotate("RS256", untold)
        with later(300):
            third = keys.rotate("RS256", untold)
            assert keys.current("RS256").kid == first
        with later(ROTATION_DELAY + 1):
            assert keys.current("RS256").kid == second
        with later(300 + ROTATION_DELAY + 1):
            assert keys.current("RS256").kid == third
            assert {first, second, third} <= {key["kid"] for key in keys.jwks()["keys"]}


def test_the_key_that_signs_cannot_be_retired(app: Flask) -> None:
    keys = app.extensions["idsync"].signing_keys
    with app.app_context():
        with pytest.raises(InvalidValue, match="signs now"):
            keys.retire(keys.current("RS256").kid, untold)
        with pytest.raises(UnknownRecord):
            keys.retire("nonsense", untold)


def test_the_commands_say_what_becomes_of_each_key(app: Flask) -> None:
    """`keys rotate` names the times, `keys list` the state, `prune` deletes the long forgotten."""

    def states() -> list[str]:
        rows = hosting.run(app, "idsync", "keys", "list", "--json")
        return [row["state"] for row in rows if row["algorithm"] == "RS256"]

    app.test_client().get("/oauth/jwks")
    said = hosting.run(app, "idsync", "keys", "rotate", "--algorithm", "RS256")
    assert "signing from" in said
    assert "withdrawn by themselves" in said
    assert states() == ["next", "signs"]
    with later(ROTATION_DELAY + 1):
        assert states() == ["signs", "kept"]
    with later(ROTATION_DELAY + KEPT_FOR + 1):
        assert states() == ["signs", "withdrawn"]
        hosting.run(app, "idsync", "prune")
        assert states() == ["signs", "withdrawn"]
    with later(32 * 24 * 3600):
        hosting.run(app, "idsync", "prune")
        assert states() == ["signs"]


@pytest.mark.parametrize("deed", ["rotate", "retire"])
def test_no_key_changes_without_its_event(app: Flask, deed: str) -> None:
    """The event is written in the transaction of the change: where it fails, nothing changed."""
    keys = app.extensions["idsync"].signing_keys

    def fail(kid: str) -> None:
        raise OSError("no space left")

    with app.app_context():
        keys.current("RS256")
        waiting = keys.rotate("RS256", untold)
        before = keys.public_rows()
        with pytest.raises(OSError, match="no space"):
            keys.rotate("RS256", fail) if deed == "rotate" else keys.retire(waiting, fail)
        assert keys.public_rows() == before


def test_two_administrators_at_once_make_one_key(app: Flask) -> None:
    """The second is told that a new key waits, whoever comes first."""
    with app.app_context():
        app.extensions["idsync"].signing_keys.current("ES256")
    ready = threading.Barrier(2)

    def rotate(_: int) -> bool:
        keys = app.extensions["idsync"].signing_keys
        with app.app_context():
            ready.wait(10)
            try:
                keys.rotate("ES256", lambda kid: time.sleep(0.1), once=True)
            except InvalidValue:
                return False
            return True

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(rotate, range(2))) == [False, True]
    with app.app_context():
        rows = app.extensions["idsync"].signing_keys.public_rows()
        assert [row["state"] for row in rows if row["algorithm"] == "ES256"] == ["next", "signs"]
