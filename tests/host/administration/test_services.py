"""How far each service has come, and whether it knows of a disabled account."""

import datetime as dt
import re

import pytest
from flask import Flask
from sqlalchemy import text

import hosting
from account_api.calling import Service, register
from account_api.pulls_at import pull_at
from console_kit import Desk
from host_app.models import db
from idsync.account_api.pulls import Pull
from idsync.administration.services import Reach, reach_of

HERE, ELSEWHERE = bytes(8), bytes(7) + b"x"
CHANGED = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
BEFORE, AT, AFTER = (int(CHANGED.timestamp()) + offset for offset in (-1, 0, 1))


@pytest.mark.parametrize(
    ("pull", "reach"),
    [
        (None, Reach.NEVER),
        (Pull("app", HERE, 6, AFTER), Reach.WAITING),
        (Pull("app", HERE, 7, AFTER), Reach.REACHED),
        (Pull("app", HERE, 9, AFTER), Reach.REACHED),
        (Pull("app", ELSEWHERE, 9, AFTER), Reach.WAITING),
        (Pull("app", HERE, 0, BEFORE), Reach.WAITING),
        (Pull("app", HERE, 0, AT), Reach.WAITING),
        (Pull("app", HERE, 0, AFTER), Reach.SENT),
    ],
)
def test_reach(pull: Pull | None, reach: Reach) -> None:
    """A change of revision 7: has it, was sent it with a whole list, or does not know of it."""
    assert reach_of(pull, HERE, 7, CHANGED) is reach


@pytest.fixture
def omar(app: Flask) -> hosting.Person:
    return hosting.add_person(app, "Omar", "omar@example.org", "pass word", "--tag", "wiki")


@pytest.fixture
def wiki(app: Flask) -> Service:
    return register(app, "Wiki", "--service-tag", "wiki")


def known(desk: Desk, person: hosting.Person) -> str:
    """What the person's page says of the services."""
    page = desk.text(f"/people/@{person.id}")
    return page.partition("Known to the services")[2].partition(" Access ")[0]


@pytest.mark.parametrize("change", ["disable", "tags/remove"])
def test_disabled_everywhere(
    app: Flask, desk: Desk, omar: hosting.Person, wiki: Service, change: str
) -> None:
    """Also after a lost tag: never asked, not yet, has it, after how long; later pulls change
    nothing of that.
    """
    assert "never asked" in known(desk, omar)
    cursor = wiki.whole()["cursor"]
    cursor = wiki.changes(cursor)["cursor"]
    desk.done(f"/people/@{omar.id}/{change}", tag="wiki")
    assert "not yet" in known(desk, omar)
    cursor = wiki.changes(cursor)["cursor"]
    assert "not yet" in known(desk, omar)  # the answer may never have arrived
    pull_at(wiki, cursor, seconds=100)
    took = re.search(r"has it after (\d+ \w+)", known(desk, omar))
    assert took
    hosting.add_person(app, "Somebody", "else@example.org", "pass word")
    cursor = wiki.changes(cursor)["cursor"]
    pull_at(wiki, cursor, seconds=7200)
    assert f"has it after {took[1]}" in known(desk, omar)


def test_erased_everywhere(desk: Desk, omar: hosting.Person, wiki: Service) -> None:
    """The page of somebody erased still tells."""
    cursor = wiki.whole()["cursor"]
    desk.done(f"/people/@{omar.id}/erase", typed=omar.id)
    assert "not yet" in known(desk, omar)
    cursor = wiki.changes(wiki.changes(cursor)["cursor"])["cursor"]
    assert "has it" in known(desk, omar)


def test_a_service_that_takes_whole_lists_was_sent_it(
    app: Flask, desk: Desk, omar: hosting.Person, wiki: Service
) -> None:
    wiki.whole()
    desk.done(f"/people/@{omar.id}/disable")
    with app.app_context():
        db.session.execute(text("UPDATE idsync_account SET updated_at = '2026-01-01 00:00:00'"))
        db.session.commit()
    assert "was sent it" in known(desk, omar)


def test_how_far_each_service_is_stands_on_the_overview(
    app: Flask, desk: Desk, wiki: Service
) -> None:
    """And on its own page, and in the list."""
    pages = ("", "/applications", f"/applications/{wiki.client.client_id}")
    assert all("Has not asked for accounts yet" in desk.text(page) for page in pages)
    cursor = wiki.whole()["cursor"]
    assert all("Takes the whole list" in desk.text(page) for page in pages)
    wiki.changes(cursor)
    assert all("Has every change" in desk.text(page) for page in pages)
    hosting.add_person(app, "Grace", "grace@example.org", "pass word")
    assert all("Changes it did not have yet: 1" in desk.text(page) for page in pages)


def test_after_a_restore_nobody_has_anything(
    app: Flask, desk: Desk, omar: hosting.Person, wiki: Service
) -> None:
    """Steps of a former incarnation do not count."""
    wiki.changes(wiki.whole()["cursor"])
    assert "has it" in known(desk, omar)
    hosting.run(app, "idsync", "restored")
    assert "not yet" in known(desk, omar)


def test_the_days_are_counted(app: Flask, desk: Desk, wiki: Service) -> None:
    """Sign-ins, failures and grants of today; nothing older than a week."""
    omar = hosting.add_person(app, "Omar", "omar@example.org", "pass word", "--tag", "wiki")
    hosting.sign_in(app.test_client(), omar, password="wrong")
    hosting.authorize(app.test_client(), wiki.client, omar)
    today = desk.text().partition("To applications")[2].split()
    assert today[2:5] == ["2", "1", "1"]  # behind the day and the month
    with app.app_context():
        db.session.execute(text("UPDATE idsync_event SET at = at - 7 * 86400"))
        db.session.commit()
    week = desk.text().partition("To applications")[2].partition("Services")[0].split()
    assert [one for one in week if one.isdigit()].count("0") >= 21


def test_steps_are_pruned(app: Flask, omar: hosting.Person, wiki: Service) -> None:
    wiki.changes(wiki.changes(wiki.whole()["cursor"])["cursor"])
    hosting.run(app, "idsync", "prune")
    with app.app_context():
        steps = text("SELECT count(*) FROM idsync_pull_step")
        assert db.session.execute(steps).scalar() == 1
        db.session.execute(text("UPDATE idsync_pull_step SET at = at - 2592001"))
        db.session.commit()
    hosting.run(app, "idsync", "prune")
    with app.app_context():
        assert db.session.execute(steps).scalar() == 0
