"""`flask idsync audit …`."""

import csv
import io
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

import hosting
from cli.failing import fail
from host_app.models import db, identity
from idsync.audit.events import Actor


@pytest.fixture
def told(app: Flask) -> Flask:
    """Five events; one of them begins like a formula."""
    with app.app_context():
        for number in range(5):
            actor = Actor("person", "=1+1" if number == 4 else "ada", "192.0.2.1")
            identity.audit.record("account changed", actor, subject=f"p{number}", number=number)
        db.session.commit()
    return app


def listed(app: Flask, *options: str) -> list[dict[str, Any]]:
    """The events that `audit list --json` prints, one a line."""
    result = app.test_cli_runner().invoke(args=["idsync", "audit", "list", "--json", *options])
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_events_are_listed_newest_first(told: Flask) -> None:
    """With everything they say, for people and for programs."""
    newest = listed(told)[0]
    assert (newest["subject"], newest["actor"], newest["details"]) == ("p4", "=1+1", {"number": 4})
    assert newest["at"].endswith("+00:00")
    shown = hosting.run(told, "idsync", "audit", "list").splitlines()
    assert shown[0].split()[0] == "EVENT"
    assert "person ada" in shown[2]
    assert "192.0.2.1" in shown[2]


def test_events_are_filtered_and_paged(told: Flask) -> None:
    """By every option."""
    assert [one["subject"] for one in listed(told, "--limit", "2")] == ["p4", "p3"]
    before = str(listed(told)[1]["id"])
    assert [one["subject"] for one in listed(told, "--before", before)] == ["p2", "p1", "p0"]
    assert [one["subject"] for one in listed(told, "--subject", "p1")] == ["p1"]
    assert len(listed(told, "--actor", "ada")) == 4
    assert listed(told, "--client-id", "app_x") == []
    assert listed(told, "--kind", "signed in") == []
    assert listed(told, "--until", "2020-01-01") == []
    assert len(listed(told, "--since", "2020-01-01T00:00+01:00", "--until", "2100-01-01")) == 5


@pytest.mark.parametrize("time", ["soon", "2026-13-01", "1"])
def test_a_time_that_is_none_is_refused(app: Flask, time: str) -> None:
    """With an example of one."""
    assert "2026-01-31" in fail(app, "audit", "list", "--since", time)


def test_events_are_exported(told: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that match, as JSON Lines or CSV, by the file's name; only its owner reads it."""
    monkeypatch.setattr("idsync.audit.reading.PAGE", 2)
    for name in ("events.jsonl", "events.csv"):
        path = tmp_path / name
        hosting.run(told, "idsync", "audit", "export", str(path), "--actor", "ada")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        text = path.read_text(encoding="utf-8")
        if name.endswith("csv"):
            found = list(csv.DictReader(io.StringIO(text)))
            assert json.loads(found[0]["details"]) == {"number": 3}
        else:
            found = [json.loads(line) for line in text.splitlines()]
        assert [one["subject"] for one in found] == ["p3", "p2", "p1", "p0"]


def test_an_exported_cell_is_no_formula(told: Flask) -> None:
    """To standard output where no file is named."""
    text = hosting.run(told, "idsync", "audit", "export", "--format", "csv")
    assert next(csv.DictReader(io.StringIO(text)))["actor"] == "'=1+1"
    lines = hosting.run(told, "idsync", "audit", "export").splitlines()
    assert json.loads(lines[0])["actor"] == "=1+1"


def test_an_export_to_nowhere_is_one_line(told: Flask) -> None:
    assert "cannot be written" in fail(told, "audit", "export", "/nowhere/events.csv")
