"""The keys that sign id_tokens."""

import time
from unittest import mock

import pytest
from flask import Flask


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_a_first_key_signs_at_once_though_its_maker_s_clock_was_ahead(
    app: Flask, algorithm: str
) -> None:
    """Hosts of one service do not agree on the second; until then there is no other key."""
    keys = app.extensions["idsync"].signing_keys
    with app.app_context():
        with mock.patch("time.time", return_value=time.time() + 30):
            made = keys.current(algorithm)
        assert keys.current(algorithm) == made


def test_a_rotated_key_signs_only_after_everybody_knows_it(app: Flask) -> None:
    """Ten minutes after it was published."""
    keys = app.extensions["idsync"].signing_keys
    with app.app_context():
        before = keys.current("ES256").kid
        after = keys.rotate("ES256")
        assert keys.current("ES256").kid == before
        with mock.patch("time.time", return_value=time.time() + 601):
            assert keys.current("ES256").kid == after
