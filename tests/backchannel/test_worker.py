"""`flask idsync deliver` as a process: killed, stopped, several at once, and slow applications."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flask import Flask
from sqlalchemy import text

import hosting
import live
from backchannel.listening import register
from clients.flow import tokens_of
from host_app.models import db
from idsync.oauth.delivery import CLAIM_SECONDS, PER_APPLICATION
from kills.killing import FLASK
from receiver import read, receiver, wait_until

FAREWELL = 20  # seconds that a worker gets to end


@contextmanager
def worker(settings: dict[str, Any], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of its own; its output is in `worker.log`."""
    with (folder / "worker.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, *FLASK, "deliver"],
            cwd=live.REPOSITORY,
            env=live.environment(settings),
            stdout=log,
            stderr=log,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def leave(app: Flask, person: hosting.Person, *applications: hosting.Client) -> None:
    client = app.test_client()
    for application in applications:
        tokens_of(client, application, person)
    client.get("/logout")


def copies(app: Flask, number: int) -> None:
    """As many notices more as of other logouts, of the one there is."""
    columns = "client_id, subject, created_at, due_at, tries"
    with app.app_context():
        for _ in range(number):
            db.session.execute(
                text(
                    f"INSERT INTO idsync_logout ({columns})"  # noqa: S608
                    f" SELECT {columns} FROM idsync_logout ORDER BY id LIMIT 1"
                )
            )
        db.session.commit()


def test_a_worker_killed_between_sending_and_noting_sends_it_again(
    host: Flask, settings: dict[str, Any], tmp_path: Path
) -> None:
    """At least once: the application hears the same `jti` twice, and nothing is lost."""
    person = hosting.add_person(host)
    with receiver(delay=60) as listener:
        leave(host, person, register(host, listener.url))
        with worker(settings, tmp_path):
            listener.await_tokens(1)  # it is there, and the answer is not
        listener.delay = 0
        claimed = hosting.run(host, "idsync", "deliver", "--once")
        assert claimed == "0 logout tokens delivered, 0 not taken.\n"
        with host.app_context():
            db.session.execute(
                text("UPDATE idsync_logout SET due_at = due_at - :passed"),
                {"passed": CLAIM_SECONDS},
            )
            db.session.commit()
        again = hosting.run(host, "idsync", "deliver", "--once")
        assert again == "1 logout tokens delivered, 0 not taken.\n"
        jwks = host.test_client().get("/oauth/jwks").json
        first, second = (read(token, jwks).claims for token in listener.tokens())
        assert first["jti"] == second["jti"]


def test_a_slow_application_delays_nobody_and_sigterm_ends_cleanly(
    host: Flask, settings: dict[str, Any], tmp_path: Path
) -> None:
    """Fifty tokens wait for one that hangs; another application has its own at once. What was
    begun is ended and noted before the worker goes.
    """
    person = hosting.add_person(host)
    with receiver(delay=5) as slow, receiver() as quick:
        leave(host, person, register(host, slow.url))
        copies(host, 49)
        leave(host, person, register(host, quick.url))
        with worker(settings, tmp_path) as process:
            slow.await_tokens(PER_APPLICATION)
            quick.await_tokens(1)
            assert len(slow.requests) == PER_APPLICATION  # none of them is answered yet
            process.send_signal(signal.SIGTERM)
            assert process.wait(FAREWELL) == 0
        with host.app_context():
            noted = db.session.execute(
                text("SELECT count(*) FROM idsync_logout WHERE delivered_at IS NOT NULL")
            ).scalar_one()
        assert noted == len(slow.requests) + 1
        assert len(slow.requests) <= 3 * PER_APPLICATION
        assert "logout tokens delivered, 0 not taken" in (tmp_path / "worker.log").read_text()


def test_several_workers_send_each_token_once(
    host: Flask, settings: dict[str, Any], tmp_path: Path
) -> None:
    """Side by side on one database."""
    person = hosting.add_person(host)
    with receiver() as listener:
        leave(host, person, register(host, listener.url))
        copies(host, 149)
        with worker(settings, tmp_path) as one, worker(settings, tmp_path) as other:
            listener.await_tokens(150)
            wait_until(lambda: waiting(host) == 0)
            for process in (one, other):
                process.send_signal(signal.SIGTERM)
            assert [process.wait(FAREWELL) for process in (one, other)] == [0, 0]
        jwks = host.test_client().get("/oauth/jwks").json
        assert len({read(token, jwks).claims["jti"] for token in listener.tokens()}) == 150
        assert len(listener.requests) == 150


def waiting(app: Flask) -> int:
    """How many tokens are neither delivered nor given up."""
    with app.app_context():
        statement = text("SELECT count(*) FROM idsync_logout WHERE due_at IS NOT NULL")
        return int(db.session.execute(statement).scalar_one())
