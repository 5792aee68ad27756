"""`python -m idsync.consumer`."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import hosting
from consumer_kit import Consumer, FalseService, a_list, an_account, answering
from idsync.consumer.claim import claimed
from live import LiveHost


def environment(url: str, tag: str, copy: str, secret: str = "ids_secret", **more: str) -> dict:
    inherited = {name: value for name, value in os.environ.items() if "IDSYNC" not in name}
    return {
        **inherited,
        "IDSYNC_URL": url,
        "IDSYNC_CLIENT_ID": "app_me",
        "IDSYNC_CLIENT_SECRET": secret,
        "IDSYNC_SERVICE_TAG": tag,
        "IDSYNC_COPY": copy,
        **more,
    }


def run(given: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "idsync.consumer", *words],
        env=given,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_it_pulls_and_says_how_the_copy_is(
    host: LiveHost, wiki: Consumer, copy_url: str, tmp_path: Path
) -> None:
    hosting.add_person(host.app, "A", f"a@{wiki.tag}.example.org", "pass word", "--tag", wiki.tag)
    secret = tmp_path / "secret"
    secret.write_text(f"{wiki.client.client_secret}\n")
    given = environment(
        host.url,
        wiki.tag,
        copy_url,
        secret="",
        IDSYNC_CLIENT_ID=wiki.client.client_id,
        IDSYNC_CLIENT_SECRET_FILE=str(secret),
    )
    before = run(given, "status")
    assert (before.returncode, before.stdout) == (1, "Nothing has been pulled yet.\n")
    pulled = run(given, "pull")
    assert (pulled.returncode, pulled.stderr) == (0, "")
    assert "1 added" in pulled.stdout
    after = run(given, "status", "--json")
    assert after.returncode == 0
    assert json.loads(after.stdout)["accounts"] == 1
    assert "1 accounts, as of" in run(given, "status").stdout
    with claimed(wiki.store, seconds=60, wait=0):
        assert run(given, "pull").returncode == 3


def test_run_goes_on_until_it_is_stopped(false: FalseService, tmp_path: Path) -> None:
    false.then(answering(401), answering(200, a_list([an_account()])))
    url = f"sqlite:///{tmp_path / 'copy.sqlite3'}"
    given = environment(false.url, "wiki", url, IDSYNC_PULL_EVERY="1")
    process = subprocess.Popen(
        [sys.executable, "-m", "idsync.consumer", "run"],
        env=given,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = ""
    while "1 added" not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    process.send_signal(signal.SIGTERM)
    said += process.communicate(timeout=30)[1]
    assert process.returncode == 0
    assert "refused this application" in said
    assert "ids_secret" not in said


@pytest.mark.parametrize(
    ("changed", "status", "said"),
    [
        ({"IDSYNC_URL": ""}, 2, "IDSYNC_URL is not set"),
        ({"IDSYNC_URL": "http://id.example.org"}, 2, "https://"),
        ({"IDSYNC_SERVICE_TAG": ""}, 2, "IDSYNC_SERVICE_TAG"),
        ({"IDSYNC_LEASE": "soon"}, 2, "IDSYNC_LEASE"),
        ({"IDSYNC_EVERYONE": "yes"}, 2, "IDSYNC_EVERYONE"),
        ({"IDSYNC_COPY": "nonsense"}, 2, "URL"),
        ({"IDSYNC_COPY": "sqlite:////nowhere/at/all"}, 1, "unable to open"),
        ({"IDSYNC_CLIENT_SECRET_FILE": "/nowhere"}, 2, "/nowhere"),
        ({}, 1, "cannot be reached"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    tmp_path: Path, changed: dict[str, str], status: int, said: str
) -> None:
    given = environment("http://127.0.0.1:1", "wiki", f"sqlite:///{tmp_path / 'c'}", **changed)
    result = run(given, "pull")
    assert (result.returncode, result.stdout) == (status, "")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_help_names_every_setting() -> None:
    shown = run(dict(os.environ), "--help")
    assert shown.returncode == 0
    assert "IDSYNC_CLIENT_SECRET_FILE" in shown.stdout
    assert run(dict(os.environ), "push").returncode == 2
