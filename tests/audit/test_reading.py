"""Finding events again."""

import datetime as dt
import re
from collections.abc import Iterator
from unittest import mock

import pytest
from flask import Flask
from sqlalchemy import event, insert, text

from explaining import explained
from host_app.models import db, identity
from idsync.audit.events import Actor, Audit

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
ADA = Actor("person", "ada", "192.0.2.1")
WIKI = Actor("service", "app_wiki", "192.0.2.2")


@pytest.fixture
def audit(app: Flask) -> Iterator[Audit]:
    """Twelve events, a second apart: two kinds, two actors."""
    with app.app_context(), mock.patch("time.time") as clock:
        for number in range(12):
            clock.return_value = START.timestamp() + number
            identity.audit.record(
                "account changed" if number % 2 else "account created",
                WIKI if number % 3 == 0 else ADA,
                subject=f"person{number % 4}",
                number=number,
            )
        db.session.commit()
        yield identity.audit


def numbers(found: list) -> list[int]:
    return [one.details["number"] for one in found]


def test_an_event_says_who_did_what_to_whom_when_and_from_where(audit: Audit) -> None:
    """Newest first; times in UTC."""
    newest = audit.events(limit=1)[0]
    assert (newest.kind, newest.actor, newest.subject) == ("account changed", ADA, "person3")
    assert newest.at == START + dt.timedelta(seconds=11)
    assert newest.details == {"number": 11}


def test_events_are_filtered(audit: Audit) -> None:
    """All filters hold at once; `since` belongs to the time asked for, `until` does not."""
    assert numbers(audit.events(subject="person1")) == [9, 5, 1]
    assert numbers(audit.events(kind="account created")) == [10, 8, 6, 4, 2, 0]
    assert numbers(audit.events(actor="ada", subject="person1")) == [5, 1]
    since, until = (START + dt.timedelta(seconds=number) for number in (3, 6))
    assert numbers(audit.events(since=since)) == [11, 10, 9, 8, 7, 6, 5, 4, 3]
    assert numbers(audit.events(since=since, until=until)) == [5, 4, 3]
    assert numbers(audit.events(kind="account created", until=until)) == [4, 2, 0]
    assert audit.count(since=since, until=until) == 3


def test_what_a_service_did_is_found_by_its_client_id(audit: Audit) -> None:
    """As what was done to it is."""
    audit.record("secret rotated", ADA, client_id="app_wiki", number=12)
    assert numbers(audit.events(client_id="app_wiki")) == [12, 9, 6, 3, 0]


def test_pages_follow_one_another(audit: Audit) -> None:
    """By the id of the last event; what is written meanwhile moves nothing."""
    first = audit.events(limit=5)
    audit.record("account changed", ADA, subject="person1", number=99)
    second = audit.events(limit=5, before=first[-1].id)
    third = audit.events(limit=5, before=second[-1].id)
    assert numbers([*first, *second, *third]) == list(reversed(range(12)))
    assert audit.events(before=third[-1].id) == []


def test_many_events_of_one_second_stay_in_order(audit: Audit) -> None:
    """Within a second the id decides, on a page's edge too."""
    with mock.patch("time.time", return_value=START.timestamp()):
        for number in range(100, 107):
            audit.record("account changed", ADA, subject="busy", number=number)
    found, before = [], None
    while page := audit.events(subject="busy", limit=3, before=before):
        found += numbers(page)
        before = page[-1].id
    assert found == list(range(106, 99, -1))


def test_a_clock_that_was_set_back_loses_no_event(audit: Audit) -> None:
    """Order is by time first: an older time with a newer id still has its place on a page."""
    with mock.patch("time.time", return_value=START.timestamp() + 5):
        audit.record("account changed", ADA, number=50)
    found, before = [], None
    while page := audit.events(limit=2, before=before):
        found += numbers(page)
        before = page[-1].id
    assert found == [11, 10, 9, 8, 7, 6, 50, 5, 4, 3, 2, 1, 0]


def test_after_an_event_that_was_deleted_comes_nothing(audit: Audit) -> None:
    """Events go by age: with one, all older ones went."""
    assert audit.events(before=10**9) == []


def test_all_events_are_read_page_by_page(audit: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory for a page, not for all."""
    monkeypatch.setattr("idsync.audit.reading.PAGE", 5)
    statements: list[str] = []
    event.listen(db.engine, "before_cursor_execute", lambda *a: statements.append(a[2]))
    assert numbers(list(audit.all_events())) == list(reversed(range(12)))
    assert len([one for one in statements if "LIMIT" in one]) == 4


def test_a_time_without_a_zone_is_refused(audit: Audit) -> None:
    """Hours are lost otherwise, silently."""
    with pytest.raises(ValueError, match="zone"):
        audit.events(since=dt.datetime(2026, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("index", "filters"),
    [
        ("at", {}),
        ("at", {"since": START, "until": START + dt.timedelta(seconds=5000)}),
        ("subject", {"subject": "person 7"}),
        ("client_id", {"client_id": "app 7"}),
        ("kind", {"kind": "kind 7"}),
        ("actor", {"actor": "actor 7"}),
        ("actor", {"actor": "actor 7", "until": START + dt.timedelta(seconds=9000)}),
    ],
)
def test_every_filter_has_an_index(app: Flask, index: str, filters: dict) -> None:
    """The first and any later page are read from one index, in its order: nothing is sorted."""
    rows = [
        {
            "at": int(START.timestamp()) + number,
            "kind": f"kind {number % 100}",
            "actor_kind": "person",
            "actor": f"actor {number % 100}",
            "address": None,
            "subject": f"person {number % 100}",
            "client_id": f"app {number % 100}",
            "details": {},
        }
        for number in range(10_000)
    ]
    with app.app_context():
        db.session.execute(insert(db.metadata.tables["idsync_event"]), rows)
        db.session.execute(text("ANALYZE"))
        db.session.commit()
        for before in (None, 9_400):
            *_, plan = explained(
                db.engine, lambda b=before: identity.audit.events(limit=10, before=b, **filters)
            )
            assert re.search(rf"ix_idsync_event_{index}\b", plan), plan
            assert not re.search(r"Sort|TEMP B-TREE", plan), plan
