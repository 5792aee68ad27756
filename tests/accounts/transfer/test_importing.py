"""Imports that are killed, and what a large one costs."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

import live
from accounts.transfer.people import crowd, write_people
from kills.interrupting import Interrupted, assert_sound, number_of, rows
from kills.killing import FLASK, run


@pytest.fixture(autouse=True)
def context(host: Flask) -> Iterator[None]:
    """Inside an application context of the host in this process."""
    with host.app_context():
        yield


def kill_imports(host: Flask, settings: dict[str, Any], path: Path, people: int) -> int:
    """Kill an import five times, let it end, and look at everybody."""
    write_people(path, crowd(people))
    interrupted = Interrupted(people, people, lambda: number_of("idsync_account"))
    keys: dict[str, int] = {}
    for _ in range(5):
        interrupted.kill(1, settings, *FLASK, "account", "import", str(path))
        assert number_of("idsync_account") % 1000 == 0  # whole batches
        assert number_of("idsync_account") == number_of("person")
        now = dict(rows("SELECT email_key, account_key FROM idsync_account"))
        assert now.items() >= keys.items()  # nobody was made anew
        keys = now
    last = json.loads(run(settings, *FLASK, "account", "import", str(path), "--json"))
    assert last["created"] + last["unchanged"] == people
    assert last["attached"] == 0
    now = dict(rows("SELECT email_key, account_key FROM idsync_account"))
    assert (len(now), now.items() >= keys.items()) == (people, True)
    assert number_of("person") == people
    # One event for each, not more.
    assert number_of("idsync_event WHERE kind = 'account imported'") == people
    assert len(rows("SELECT DISTINCT subject FROM idsync_event")) == people
    assert_sound(host)
    return interrupted.midway


def test_a_killed_import_goes_on(host: Flask, settings: dict[str, Any], tmp_path: Path) -> None:
    """Five kills, then an end: everybody is there, once, with one event."""
    assert kill_imports(host, settings, tmp_path / "people.csv", 4000) >= 1


@pytest.mark.proof
def test_a_killed_import_of_many_goes_on(
    host: Flask, settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200,000 people."""
    monkeypatch.setattr("kills.killing.LONGEST", 900)  # a file of this size takes a while to check
    assert kill_imports(host, settings, tmp_path / "people.jsonl", 200_000) >= 3


@pytest.mark.proof
def test_a_large_file_takes_no_more_memory_than_a_small_one(
    host: Flask, settings: dict[str, Any], tmp_path: Path
) -> None:
    """10,000 and 100,000 people, in and out: within 20 MB of each other."""
    peaks = {}
    for people in (10_000, 100_000):
        path = tmp_path / f"{people}.csv"
        write_people(path, crowd(people))
        imported = _peak(settings, "import", str(path))
        exported = _peak(settings, "export", str(tmp_path / "out.csv"), "--with-passwords")
        peaks[people] = (imported, exported)
    assert peaks[100_000][0] < peaks[10_000][0] + 20
    assert peaks[100_000][1] < peaks[10_000][1] + 20


def _peak(settings: dict[str, Any], *arguments: str) -> int:
    """The most memory that a command had at once, in MB."""
    command = [sys.executable, *FLASK, "account", *arguments]
    script = (
        "import resource, subprocess, sys;"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *command],
        cwd=live.REPOSITORY,
        env=live.environment(settings),
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)
