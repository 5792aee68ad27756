"""A secret is replaced while its application goes on working."""

from collections.abc import Iterator
from dataclasses import replace
from unittest import mock

import pytest
from flask import Flask

import hosting
from applications.sound import SOUND
from cli.failing import fail
from idsync.crypto import identifiers

NOW = 1_800_000_000


@pytest.fixture(autouse=True)
def at_rest() -> Iterator[mock.Mock]:
    with mock.patch("time.time", return_value=NOW) as clock:
        yield clock


def rotate(app: Flask, client_id: str, *options: str) -> dict[str, str]:
    return hosting.run(app, "idsync", "application", "rotate-secret", client_id, "--json", *options)


def works(app: Flask, client_id: str, secret: str | None) -> bool:
    answer = app.test_client().get("/api/services", auth=(client_id, secret or ""))
    return answer.status_code == 200


def test_the_old_secret_works_until_the_overlap_ends(app: Flask, at_rest: mock.Mock) -> None:
    """Both for so many seconds, then the new one alone."""
    made = hosting.register_application(app, "Wiki", "--accounts")
    rotated = rotate(app, made.client_id, "--overlap", "3600")
    assert rotated["previous_secret_until"] == "2027-01-15T09:00:00+00:00"
    at_rest.return_value = NOW + 3599
    assert works(app, made.client_id, made.client_secret)
    assert works(app, made.client_id, rotated["client_secret"])
    at_rest.return_value = NOW + 3600
    assert not works(app, made.client_id, made.client_secret)
    assert works(app, made.client_id, rotated["client_secret"])


def test_without_an_overlap_the_old_secret_stops_at_once(app: Flask) -> None:
    """And with it the one that still worked from the rotation before: a leak ends here."""
    made = hosting.register_application(app, "Wiki", "--accounts")
    second = rotate(app, made.client_id, "--overlap", "3600")["client_secret"]
    third = rotate(app, made.client_id)
    assert "previous_secret_until" not in third
    assert not works(app, made.client_id, made.client_secret)
    assert not works(app, made.client_id, second)
    assert works(app, made.client_id, third["client_secret"])


def test_only_the_last_two_secrets_ever_work(app: Flask) -> None:
    """A second overlap does not prolong the first."""
    made = hosting.register_application(app, "Wiki", "--accounts")
    second = rotate(app, made.client_id, "--overlap", "3600")["client_secret"]
    rotate(app, made.client_id, "--overlap", "3600")
    assert works(app, made.client_id, second)
    assert not works(app, made.client_id, made.client_secret)


def test_the_old_secret_is_that_of_the_same_application(app: Flask) -> None:
    """An overlap here opens nothing there."""
    made = hosting.register_application(app, "Wiki", "--accounts")
    other = hosting.register_application(app, "Other", "--accounts")
    rotate(app, made.client_id, "--overlap", "3600")
    assert not works(app, other.client_id, made.client_secret)


def test_an_application_shows_how_long_its_old_secret_works(app: Flask, at_rest: mock.Mock) -> None:
    """The time, never a digest; nothing once it is over."""
    made = hosting.register_application(app, "Wiki")
    rotate(app, made.client_id, "--overlap", "60")
    shown = hosting.run(app, "idsync", "application", "show", made.client_id, "--json")
    assert shown["previous_secret_until"] == "2027-01-15T08:01:00+00:00"
    assert not [name for name in shown if "digest" in name]
    at_rest.return_value = NOW + 60
    shown = hosting.run(app, "idsync", "application", "show", made.client_id, "--json")
    assert shown["previous_secret_until"] is None


@pytest.mark.parametrize("overlap", ["-1", str(30 * 24 * 3600 + 1), "soon"])
def test_an_overlap_has_an_end(app: Flask, overlap: str) -> None:
    """At most thirty days; nothing is rotated otherwise."""
    made = hosting.register_application(app, "Wiki", "--accounts")
    assert "--overlap" in fail(
        app, "application", "rotate-secret", made.client_id, "--overlap", overlap
    )
    assert works(app, made.client_id, made.client_secret)


def test_a_public_application_has_nothing_to_rotate(app: Flask) -> None:
    made = hosting.register_application(app, "App", "--public")
    assert "no secret" in fail(app, "application", "rotate-secret", made.client_id)


def test_both_secrets_are_compared_whatever_the_first_says() -> None:
    """Otherwise the time of an answer would tell which one was sent, and that there are two."""
    rotated = replace(
        SOUND,
        secret_digest=identifiers.digest("new"),
        previous_secret_digest=identifiers.digest("old"),
        previous_secret_until=NOW + 1,
    )
    for secret, right in (("new", True), ("old", True), ("wrong", False)):
        for application in (rotated, replace(rotated, previous_secret_digest=None)):
            with mock.patch.object(identifiers, "matches", wraps=identifiers.matches) as matches:
                expected = right and (secret == "new" or application is rotated)
                assert application.has_secret(secret) is expected
            assert matches.call_count == 2


def test_a_public_application_never_gets_a_secret_from_its_past() -> None:
    """What has no secret now has none that goes on working."""
    odd = replace(
        SOUND,
        secret_digest=None,
        previous_secret_digest=identifiers.digest("old"),
        previous_secret_until=NOW + 1,
    )
    assert not odd.has_secret("old")
