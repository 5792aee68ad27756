"""The audit log in the console: found, paged, downloaded."""

import ast
import csv
import datetime as dt
import io
import re
import tracemalloc
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import text

import hosting
from console_kit import Desk
from host_app.kinds import KINDS
from host_app.models import db, identity
from idsync.administration import log
from idsync.audit.events import COMMAND

SOURCE = Path(__file__).parents[3] / "src/idsync"


def write_events(app: Flask, number: int, kind: str = "account changed") -> None:
    with app.app_context():
        db.session.execute(
            text(
                "INSERT INTO idsync_event (at, kind, actor_kind, subject, details)"
                " VALUES (:at, :kind, 'command', :subject, '{\"fields\": [\"name\"]}')"
            ),
            [{"at": 1_000_000 + one, "kind": kind, "subject": f"s{one}"} for one in range(number)],
        )
        db.session.commit()


def test_every_kind_of_event_has_a_name() -> None:
    """Those that are written anywhere, those that can be asked for, and their texts."""
    written = {
        argument.value
        for file in SOURCE.rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        if call.func.attr in ("record", "record_all", "_record", "_note", "_change")
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }
    assert len(written) > 20
    assert written <= set(log.KINDS)
    assert list(KINDS) == list(log.KINDS) == sorted(log.KINDS)


def test_events_are_found(app: Flask, desk: Desk) -> None:
    """By person, application, who did it, kind and time; all that is given must hold."""
    omar = hosting.add_person(app, "Omar", "omar@example.org", "pass word")
    grace = hosting.add_person(app, "Grace", "grace@example.org", "pass word")
    wiki = hosting.register_application(app, "Wiki")
    hosting.authorize(app.test_client(), wiki, omar)
    desk.done(f"/people/@{grace.id}/disable")
    assert "Omar" in desk.text("/audit", person=omar.id)
    assert "Grace" not in desk.text("/audit", person="OMAR@example.org")
    assert "Nothing was found" in desk.text("/audit", person="nobody@example.org")
    events = desk.text("/audit", application=wiki.client_id).partition("CSV")[2]
    assert "Went on to an application" in events
    assert "Signed in" not in events
    assert "Grace" in desk.text("/audit", by=desk.person.email)
    assert "Omar" not in desk.text("/audit", by=desk.person.id)
    events = desk.text("/audit", kind="account changed", person=grace.id).partition("CSV")[2]
    assert "Account changed" in events
    assert "Account created" not in events
    now = dt.datetime.now(dt.UTC)
    soon, lately = (f"{now + dt.timedelta(hours=h):%Y-%m-%dT%H:%M}" for h in (1, -1))
    assert "Nothing was found" in desk.text("/audit", since=soon)
    assert "Nothing was found" in desk.text("/audit", until=lately)
    assert "Omar" in desk.text("/audit", since=lately, until=soon)


@pytest.mark.parametrize("path", ["/audit", "/audit.csv"])
def test_a_time_that_is_none_is_said_so(desk: Desk, path: str) -> None:
    answer = desk.get(path, since="yesterday")
    assert answer.status_code == 422
    assert "Account created" not in answer.text.partition("CSV")[2]


@pytest.mark.parametrize("odd", ["\0", "\ud800", "x" * 100_000, "@", "'; DROP TABLE person"])
def test_odd_filters_find_nothing_and_break_nothing(desk: Desk, odd: str) -> None:
    for field in ("person", "by", "application", "kind", "before"):
        query = odd.encode("utf-8", "surrogatepass")
        answer = desk.browser.get("/administration/audit", query_string={field: query})
        assert answer.status_code in (200, 400, 414, 422)


def test_pages_follow_one_another(app: Flask, desk: Desk) -> None:
    """Newest first, each event once, with the filters kept."""
    write_events(app, 120)
    seen: list[str] = []
    address = "/administration/audit?kind=account+changed"
    while address:
        page = desk.browser.get(address).text
        seen += re.findall(r"<code>(s\d+)</code>", page)
        following = re.search(r'rel="next" href="([^"]+)"', page)
        address = following[1].replace("&amp;", "&") if following else ""
    assert seen == [f"s{number}" for number in reversed(range(120))]


@pytest.mark.parametrize("name", ["endpoint", "_external", "_scheme", "_anchor", "values"])
def test_other_names_in_the_address_are_left_alone(app: Flask, desk: Desk, name: str) -> None:
    """The links to other pages have the fields of the form, and nothing else."""
    write_events(app, 60)
    page = desk.get("/audit", kind="account changed", **{name: "https"})
    assert page.status_code == 200
    following = re.search(r'rel="next" href="([^"]+)"', page.text)
    assert following
    assert following[1].startswith("/administration/audit?before=")
    assert name not in following[1]


def test_a_person_is_found_by_the_whole_address(app: Flask, desk: Desk) -> None:
    """However many addresses begin alike, and in whatever case it is typed."""
    with app.app_context():
        for number in range(60):
            email = f"ann@example.org{chr(97 + number % 26) * (number // 26 + 1)}"
            identity.directory.add(actor=COMMAND, name=f"A {number:02}", email=email)
        identity.directory.add(actor=COMMAND, name="Zoe", email="ann@example.org")
        db.session.commit()
    assert "Zoe" in desk.text("/audit", person="ANN@example.org")


def test_the_download_has_the_same_events(app: Flask, desk: Desk) -> None:
    """All of them; what a spreadsheet would take for a formula is text."""
    write_events(app, 3)
    write_events(app, 1, kind="=cmd()")
    answer = desk.get("/audit.csv", kind="account changed")
    assert answer.content_type == "text/csv; charset=utf-8"
    assert re.search(r'filename="audit-\d{4}-\d\d-\d\d.csv"', answer.headers["Content-Disposition"])
    assert answer.headers["Cache-Control"] == "no-store"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["subject"] for row in rows] == ["s2", "s1", "s0"]
    assert rows[0]["details"] == '{"fields": ["name"]}'
    assert rows[0]["at"] == "1970-01-12T13:46:42+00:00"
    formula = list(csv.DictReader(io.StringIO(desk.get("/audit.csv", kind="=cmd()").text)))
    assert formula[0]["kind"] == "'=cmd()"


def test_a_long_download_takes_no_more_memory(app: Flask, desk: Desk) -> None:
    """It is sent as it is read."""
    write_events(app, 30_000)
    peaks = []
    for until in ("1970-01-12T14:20", "1970-01-12T23:00"):  # 2,000 events, and 30,000
        tracemalloc.start()
        answer = desk.browser.get(
            "/administration/audit.csv", query_string={"until": until}, buffered=False
        )
        lines = sum(1 for _ in answer.response)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        answer.close()
    assert lines > 30_000
    assert peaks[1] < 1.5 * peaks[0] + 500_000
