"""Connections that are dead, missing or kept waiting, in one process: it is known which ones."""

import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event, make_url
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import Pool

import hosting
from host_app.models import db
from hostile.gate import terminate_connections
from hostile.operations import ANSWERS, WRITES, Operations, check_answer, check_unavailable
from hostile.target import Target

ON_POSTGRESQL = pytest.mark.parametrize("database_server", ["postgresql"], indirect=True)
ON_SQLITE = pytest.mark.parametrize("database_server", ["sqlite"], indirect=True)


@pytest.fixture
def target(app: Flask) -> Target:
    return target_on(app)


def target_on(app: Flask) -> Target:
    return Target(
        app,
        hosting.add_person(app),
        hosting.register_application(app, "Target", "--first-party"),
        hosting.register_application(app, "Public target", "--public", "--first-party"),
    )


@ON_POSTGRESQL
def test_every_operation_survives_a_dead_connection(target: Target, database_url: str) -> None:
    """The connection it takes from the pool is dead: it takes another one and starts over."""
    check_with_dead_connections(target, ANSWERS.keys(), database_url)


@ON_POSTGRESQL
def test_idsync_survives_a_dead_connection_in_a_host_that_does_not_look(database_url: str) -> None:
    """Without the engine's pool_pre_ping, which the reference host sets and others may not."""
    app = hosting.make_host(database_url, SQLALCHEMY_ENGINE_OPTIONS={})
    try:
        theirs = ("open_start_page", "sign_in", "sign_out")
        ours = [name for name in ANSWERS if name not in theirs]
        check_with_dead_connections(target_on(app), ours, database_url)
    finally:
        hosting.close_host(app)


def check_with_dead_connections(target: Target, names: Iterable[str], database_url: str) -> None:
    operations = Operations(target)
    for name in names:
        terminate_connections(database_url)
        check_answer(name, getattr(operations, name)())


def test_every_operation_says_503_while_no_connection_is_to_be_had(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pool is exhausted, because everybody else is slow; nothing is lost by that."""
    operations = Operations(target)
    with target.app.app_context():
        engine = db.engine
    with monkeypatch.context() as exhausted:
        exhausted.setattr(engine, "pool", NoConnection(engine.pool._creator))
        for name in ANSWERS:
            check_unavailable(name, getattr(operations, name)())
    for name in ANSWERS:
        check_answer(name, getattr(operations, name)())


class NoConnection(Pool):
    """A pool that has none left."""

    def _do_get(self) -> Any:
        raise PoolTimeout("QueuePool limit of size 5 overflow 10 reached")


HOLD_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


def set_busy_timeout(app: Flask, milliseconds: int) -> None:
    """How long this host waits for a lock."""

    def wait(connection: Any, _record: Any) -> None:
        connection.execute(f"PRAGMA busy_timeout = {milliseconds}").close()

    with app.app_context():
        db.engine.dispose()
        event.listen(db.engine, "connect", wait)


@contextmanager
def lock_held(database_url: str) -> Iterator[None]:
    """Another process writes, and does not come to an end."""
    file = make_url(database_url).database
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_LOCK, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as rival:
        assert rival.stdout is not None
        assert rival.stdout.readline() == b"locked\n"
        yield
        rival.communicate()


@ON_SQLITE
def test_every_write_says_503_while_another_process_holds_the_lock(
    target: Target, database_url: str
) -> None:
    """Longer than the busy timeout; reads go on, and so do writes once the lock is released."""
    set_busy_timeout(target.app, 30)
    operations = Operations(target)
    with lock_held(database_url):
        for name in ANSWERS:
            check = check_unavailable if name in WRITES else check_answer
            check(name, getattr(operations, name)())
    for name in ANSWERS:
        check_answer(name, getattr(operations, name)())


@ON_SQLITE
def test_a_held_lock_is_waited_for_once(
    target: Target, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting again after each refusal would take a server's threads away one by one."""
    monkeypatch.setattr("idsync.database.LONGEST_TRIAL", 0.3)
    set_busy_timeout(target.app, 400)
    operations = Operations(target)
    refused: list[Any] = []
    with target.app.app_context():
        event.listen(db.engine, "handle_error", refused.append)
    with lock_held(database_url):
        check_unavailable("refresh", operations.refresh())
    assert ["locked" in str(one.original_exception) for one in refused] == [True]
    check_answer("refresh", operations.refresh())
