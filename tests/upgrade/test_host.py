"""The host's own database, from the first version's tables to today's, with everything in it."""

from collections.abc import Iterator
from pathlib import Path

import flask_migrate
import pytest
from flask import Flask
from sqlalchemy import inspect

import hosting
from account_api import calling
from host_app.models import db
from upgrade.first_version import (
    FIRST,
    Left,
    browser_with,
    counted_now,
    left_behind,
    options_on,
    other_name,
    tokens_for,
)


@pytest.fixture
def left(database_url: str, tmp_path: Path) -> Iterator[Left]:
    with left_behind(database_url, tmp_path) as left:
        yield left


@pytest.fixture
def upgraded(left: Left) -> Iterator[Flask]:
    with hosting.host(left.settings) as host:
        with host.app_context():
            flask_migrate.upgrade()
        yield host


def test_there_is_something_of_every_kind(left: Left) -> None:
    """Or what follows would prove little."""
    assert {name for name, number in left.rows.items() if not number} == set()
    assert len(left.rows) == 17  # all that the first version had


def lost(host: Flask, before: dict[str, int]) -> dict[str, int]:
    """The tables that have fewer rows than before, and how many those were.

    Tries are forgotten when somebody signs in.
    """
    now = counted_now(host)
    del now["idsync_try"]
    return {name: before[name] for name, number in now.items() if number < before.get(name, 0)}


def refresh(host: Flask, left: Left, token: str) -> dict[str, str]:
    form = {"grant_type": "refresh_token", "refresh_token": token}
    answer = host.test_client().post("/oauth/token", data=form, auth=left.application.basic)
    assert answer.status_code == 200, answer.text
    return dict(answer.json)


def everything_works(host: Flask, left: Left) -> None:
    """People and applications go on with what they had in hand."""
    assert lost(host, left.rows) == {}
    # A browser that was signed in, and another one.
    assert "You are signed in" in browser_with(host, left.cookies).get("/").text
    assert hosting.sign_in(host.test_client(), left.ada).status_code == 303
    # Consent is remembered: the code comes without a question.
    browser = browser_with(host, left.cookies)
    answer = browser.get(hosting.authorize_path(left.application))
    assert "code=" in answer.headers["Location"]
    # Tokens and a code from before.
    bearer = {"Authorization": f"Bearer {left.tokens['access_token']}"}
    claims = host.test_client().get("/oauth/userinfo", headers=bearer).json
    assert (claims["sub"], claims["name"]) == (left.ada.id, left.ada.name)
    assert tokens_for(host, left.application, left.code)["refresh_token"]
    again = refresh(host, left, left.tokens["refresh_token"])
    assert refresh(host, left, again["refresh_token"])["access_token"]
    # Both second factors.
    browser = host.test_client()
    assert "second-factor" in hosting.sign_in(browser, left.grace).headers["Location"]
    sent = hosting.submit(browser, "/sign-in/second-factor", {"code": left.app.code()})
    assert sent.status_code == 303
    browser = host.test_client()
    hosting.sign_in(browser, left.grace)
    sent = hosting.submit(browser, "/sign-in/second-factor", {"code": left.app.recovery_codes[0]})
    assert sent.status_code == 303
    browser = host.test_client()
    fields = {"answer": left.key.get(options_on(browser, "/sign-in?next=/"))}
    hosting.submit(browser, "/sign-in?next=/", fields, post_to="/sign-in/passkey")
    assert "You are signed in" in browser.get("/").text
    # A service follows on from its old cursor: only what changed since.
    service = calling.Service(host, left.service)
    name = other_name()
    service.changed(left.ada.id, name=name)
    changed = service.changes(left.cursor)
    assert {one["id"]: one["name"] for one in changed["accounts"]}[left.ada.id] == name
    assert changed["complete"] is False
    assert left.erased in changed["removed"]
    # An erased id stays taken, and people are found by name.
    refused = service.create(id=left.erased, name="New", email="n@example.org")
    assert refused.status_code == 400
    found = hosting.run(host, "idsync", "account", "list", "grace", "--json")
    assert left.grace.id in str(found)
    hosting.run(host, "idsync", "directory", "verify")
    hosting.add_person(host, "New", "new@example.org", "quite another")


def test_everybody_goes_on_with_what_they_had(upgraded: Flask, left: Left) -> None:
    """Sessions, passwords, both factors, codes, tokens, consent and cursors survive."""
    with upgraded.app_context():
        flask_migrate.check()
    everything_works(upgraded, left)


def test_what_was_taken_back_can_be_done_again(upgraded: Flask, left: Left) -> None:
    """Down to the first version with today's data in the tables, and up again."""
    hosting.run(
        upgraded, "idsync", "application", "edit", left.application.client_id,
        "--backchannel-logout-uri", "https://app.example.org/logout",
    )  # fmt: skip
    calling.Service(upgraded, left.service).changes(left.cursor)
    browser = upgraded.test_client()
    hosting.authorize(browser, left.application, left.ada)
    hosting.submit(browser, "/", {}, post_to="/sign-out")
    before = {name: number for name, number in counted_now(upgraded).items() if name in left.rows}
    with upgraded.app_context():
        flask_migrate.downgrade(revision=FIRST)
        tables = set(inspect(db.engine).get_table_names())
        assert tables == {*left.rows, "alembic_version"}
        db.session.remove()
        flask_migrate.upgrade()
        flask_migrate.check()
    assert lost(upgraded, before) == {}
    everything_works(upgraded, left)
