"""What a load balancer is told: whether the process answers, and whether it can do its work."""

import threading
from collections.abc import Iterator
from pathlib import Path

import flask_migrate
import pytest
from alembic.script import ScriptDirectory
from flask import Flask
from sqlalchemy import event, text

import databases
import hosting
from host_app import health
from host_app.models import db
from receiver import wait_until

PATIENCE = 20  # seconds
AWAY = "postgresql+psycopg://nobody@127.0.0.1:1/nothing"


@pytest.fixture(autouse=True)
def each_look_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "KEPT", 0)


@pytest.fixture
def migrated(database_url: str) -> Iterator[Flask]:
    with hosting.host(hosting.configuration(database_url)) as app:
        with app.app_context():
            flask_migrate.upgrade()
        yield app


def readiness(app: Flask) -> tuple[int, dict[str, object]]:
    answer = app.test_client().get("/readyz")
    return answer.status_code, answer.json


def test_a_migrated_host_is_ready(migrated: Flask) -> None:
    status, told = readiness(migrated)
    assert status == 200
    assert told == {"ready": True, "database": "ok", "keys": "ok", "limits": "memory"}


def test_tables_that_are_not_there_yet_are_told(database_url: str) -> None:
    with hosting.host(hosting.configuration(database_url)) as app:
        assert readiness(app) == (
            503,
            {"ready": False, "database": "not migrated", "keys": "unknown", "limits": "unknown"},
        )


def test_an_older_schema_is_not_ready_and_a_newer_one_is(migrated: Flask) -> None:
    """Hosts are updated one by one: the old ones serve what the first new one has migrated."""
    with migrated.app_context():
        folder = migrated.extensions["migrate"].directory
        below = ScriptDirectory(folder).walk_revisions()
        older = list(below)[1].revision
        for revision, ready in ((older, False), ("0999", True)):
            db.session.execute(text("UPDATE alembic_version SET version_num = :r"), {"r": revision})
            db.session.commit()
            assert readiness(migrated)[1]["ready"] is ready


def test_a_database_sealed_with_another_key_is_not_ready(database_url: str) -> None:
    """The tables may come, and be filled by another host, when this one runs already."""
    with (
        hosting.host(hosting.configuration(database_url)) as mistaken,
        hosting.host(hosting.configuration(database_url)) as right,
    ):
        with right.app_context():
            flask_migrate.upgrade()
        assert readiness(right)[0] == 200
        status, told = readiness(mistaken)
        assert (status, told["keys"]) == (503, "wrong")


def test_a_process_is_alive_while_its_database_is_away() -> None:
    """A balancer that restarted every process for it would make things worse."""
    with hosting.host(hosting.configuration(AWAY)) as app:
        answer = app.test_client().get("/healthz")
        assert (answer.status_code, answer.json) == (200, {"alive": True})
        assert readiness(app)[1]["database"] == "away"


def test_a_redis_that_is_away_is_reported_only(database_url: str) -> None:
    """Without it each process counts tries alone; nobody is turned away."""
    config = hosting.configuration(
        database_url, IDSYNC_LIMITS_STORAGE="redis://user:password@127.0.0.1:1"
    )
    with hosting.host(config) as app:
        with app.app_context():
            flask_migrate.upgrade()
        assert readiness(app) == (
            200,
            {"ready": True, "database": "ok", "keys": "ok", "limits": "away"},
        )


def test_the_answer_comes_in_time_whatever_the_database_does(
    migrated: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that neither answers nor breaks off holds one thread, however many ask.

    Who waited for it would be told "ok", when it goes on.
    """
    monkeypatch.setattr(health, "LONGEST_LOOK", 0.2)
    release, held = threading.Event(), []

    def hang(*_: object) -> None:
        held.append(threading.current_thread())
        release.wait(PATIENCE)

    with migrated.app_context():
        engine = db.engine
    event.listen(engine, "before_cursor_execute", hang)
    try:
        answers = [readiness(migrated)]
        wait_until(lambda: bool(held))
        answers += [readiness(migrated), readiness(migrated)]
        assert [told["database"] for _, told in answers] == ["slow"] * 3
        assert len(held) == 1
    finally:
        release.set()
    monkeypatch.setattr(health, "LONGEST_LOOK", PATIENCE)
    assert readiness(migrated)[0] == 200


def test_asking_often_costs_one_look_a_second(
    migrated: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody may ask: that must not be a way to keep the database busy."""
    monkeypatch.setattr(health, "KEPT", 60)
    looks = []
    monkeypatch.setattr(health, "schema_problem", lambda app: looks.append(app))
    for _ in range(20):
        assert readiness(migrated)[0] == 200
    assert len(looks) == 1


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_probe_is_cached_redirected_and_remembered_nowhere(migrated: Flask, path: str) -> None:
    """Balancers ask by address, over http, and keep no cookies."""
    browser = migrated.test_client()
    answer = browser.get(path, base_url="http://10.0.0.7:8000", headers={"Host": "not a host!"})
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in answer.headers
    head = browser.head(path)
    assert (head.status_code, head.data) == (200, b"")
    refused = browser.post(path)
    assert (refused.status_code, refused.headers["Allow"]) == (405, "GET, HEAD")


def test_liveness_needs_no_database(tmp_path: Path) -> None:
    """Not even for what the application looks at before its first request."""
    config = hosting.configuration(databases.sqlite_url(tmp_path))
    with hosting.host(config) as app:
        with app.app_context():
            engine = db.engine
        statements: list[object] = []
        event.listen(engine, "before_cursor_execute", lambda *its: statements.append(its[2]))
        assert app.test_client().get("/healthz").status_code == 200
        assert statements == []
