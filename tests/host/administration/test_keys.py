"""Keys in the console."""

import re
import time
from unittest import mock

import pytest
from flask import Flask

import hosting
from console_kit import Desk, sit_down
from idsync.oauth.signing_keys import ROTATION_DELAY


def published(app: Flask) -> set[str]:
    return {key["kid"] for key in app.test_client().get("/oauth/jwks").json["keys"]}


def test_the_first_keys_are_there(app: Flask, desk: Desk) -> None:
    """One of each algorithm, and nothing private."""
    page = desk.text("/keys")
    assert all(kid in page for kid in published(app))
    assert page.count(" signs ") >= 2
    assert "PRIVATE" not in desk.get("/keys").text


def test_a_key_is_rotated_and_the_old_one_retired(app: Flask, desk: Desk) -> None:
    """The one that signs stays until then; no second one is made while the first waits."""
    before = published(app)
    assert "It signs in ten minutes" in desk.done("/keys/rotate", algorithm="RS256")
    assert "waits to sign" in desk.done("/keys/rotate", algorithm="RS256")
    assert len(published(app)) == 3
    for kid in before:
        assert "this key signs now" in desk.done(f"/keys/{kid}/retire")
    with mock.patch("time.time", return_value=time.time() + ROTATION_DELAY + 1):
        page = desk.get("/keys").text
        (old,) = re.findall(r"/keys/([\w-]+)/retire", page)
        assert old in before
        assert "is retired" in desk.done(f"/keys/{old}/retire")
        assert desk.post(f"/keys/{old}/retire").status_code == 404
        events = desk.text("/audit", by=desk.person.id)
    assert old not in published(app)
    assert "Signing key made" in events
    assert "Signing key retired" in events


@pytest.mark.parametrize("algorithm", ["", "none", "HS256"])
def test_another_algorithm_is_refused(desk: Desk, algorithm: str) -> None:
    assert desk.post("/keys/rotate", algorithm=algorithm).status_code == 400


def test_sealing_keys_are_named(database_url: str) -> None:
    """By their ids: the one that seals, those still needed, those that are not."""
    app = hosting.make_host(database_url)
    sit_down(app)
    keys = app.config["IDSYNC_SEALING_KEYS"]
    hosting.close_host(app)
    newer = hosting.configuration(database_url)["IDSYNC_SEALING_KEYS"]
    with hosting.host(
        hosting.configuration(database_url, IDSYNC_SEALING_KEYS=[*newer, *keys])
    ) as app:
        grace = hosting.add_person(app, "Grace", "grace@example.org", "pw-pw-pw", "--administrator")
        desk = sit_down(app, grace)
        rows = desk.text("/keys").partition("in the database")[2]
        assert re.search(r"\w{8} seals \w{8} still needed", rows)
        hosting.run(app, "idsync", "keys", "reseal")
        rows = desk.text("/keys").partition("in the database")[2]
        assert re.search(r"\w{8} seals \w{8} not needed any more", rows)
        page = desk.get("/keys").text
        assert not any(key in page for key in (*newer, *keys))
