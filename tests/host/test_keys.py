"""Keys for the embedded database: made once, never silently anew."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hosting
from host_app.keys import NAMES, load_keys
from host_app.models import db
from idsync import ConfigurationError

STARTERS = 8

START = """
import json, os, sys
os.umask(0)
from host_app.keys import NAMES
from host_app import create_app
sys.stdin.readline()
app = create_app({"HOST_FOLDER": sys.argv[1], "TESTING": True})
print(json.dumps([app.config[name] for name in NAMES]))
"""


def start_host(folder: Path, **settings: Any) -> dict[str, Any]:
    """Start a host on the folder's embedded database with a person in it; its keys."""
    config = {"HOST_FOLDER": str(folder), "TESTING": True, **hosting.CHEAP_HASHES, **settings}
    with hosting.host(config) as app:
        with app.app_context():
            db.create_all()
        hosting.add_person(app, email=f"{os.urandom(4).hex()}@example.org")
        return {name: app.config[name] for name in NAMES}


def test_keys_are_made_once_however_many_start(tmp_path: Path) -> None:
    """Eight processes at the same moment, all with the most generous umask: one file, one owner."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", START, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        for _ in range(STARTERS)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    printed = {process.communicate(timeout=60)[0] for process in processes}
    assert len(printed) == 1
    secret, token_keys, sealing_keys = json.loads(printed.pop())
    assert len({secret, *token_keys, *sealing_keys}) == 3
    assert [file.name for file in tmp_path.glob("*key*")] == ["keys.json"]
    assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600


def test_a_restart_keeps_the_keys(tmp_path: Path) -> None:
    assert start_host(tmp_path) == start_host(tmp_path)


def test_lost_keys_are_not_replaced(tmp_path: Path) -> None:
    """New keys could not open what the database holds; the message says what to restore."""
    start_host(tmp_path)
    (tmp_path / "keys.json").unlink()
    with pytest.raises(ConfigurationError, match=r"keys\.json is missing.*Restore that file"):
        start_host(tmp_path)
    assert not (tmp_path / "keys.json").exists()


def test_tables_without_rows_hold_nothing_to_lose(tmp_path: Path) -> None:
    """As after `flask db upgrade`."""
    with hosting.host({"HOST_FOLDER": str(tmp_path), "TESTING": True}) as app, app.app_context():
        db.create_all()
    (tmp_path / "keys.json").unlink()
    start_host(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"SECRET_KEY": "x"}', "\udcff"])
def test_a_damaged_file_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "keys.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigurationError, match=r"keys\.json is damaged"):
        load_keys(tmp_path, {})


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "keys.json").mkdir()
    with pytest.raises(ConfigurationError, match=r"keys\.json"):
        load_keys(tmp_path, {})


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "identity.sqlite3").write_text("not a database, but long enough to tell" * 100)
    with pytest.raises(ConfigurationError, match=r"identity\.sqlite3 cannot be read"):
        load_keys(tmp_path, {})


def test_configured_keys_come_first(tmp_path: Path) -> None:
    given = {name: name.lower() for name in NAMES}
    assert load_keys(tmp_path, given) == {}
    assert not (tmp_path / "keys.json").exists()
    assert set(load_keys(tmp_path, {"SECRET_KEY": "given"})) == set(NAMES) - {"SECRET_KEY"}
