"""A list that fails half way is an error the reader can tell, and nothing stays behind."""

import sqlite3
import weakref
from collections.abc import Callable
from tempfile import SpooledTemporaryFile
from typing import Any

import pytest
from flask import Flask
from sqlalchemy.exc import OperationalError

import databases
from account_api.calling import ACCOUNTS, Service, rows
from host_app.models import User, db

CHUNK = 50  # rows read at a time
MANY = 4 * CHUNK


class Files:
    """The temporary files of lists: which are open, and what happens at their n-th write."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made = 0
        self.alive: weakref.WeakSet[Any] = weakref.WeakSet()
        self.at_write: dict[int, Callable[[], None]] = {}
        files = self

        class WatchedFile(SpooledTemporaryFile[bytes]):
            def __init__(self, **options: Any) -> None:
                super().__init__(**options)
                self.writes = 0
                files.made += 1
                files.alive.add(self)

            def write(self, data: Any) -> int:
                self.writes += 1
                files.at_write.get(self.writes, lambda: None)()
                return super().write(data)

        monkeypatch.setattr("idsync.account_api.pull.SpooledTemporaryFile", WatchedFile)

    @property
    def open(self) -> int:
        return sum(not file.closed for file in self.alive)


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Files:
    return Files(monkeypatch)


@pytest.fixture
def service(
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
    database_url: str,  # pytest 8.4 wants it named where a fixture overrides another
) -> Service:
    """A service with more accounts than are read at a time."""
    monkeypatch.setattr("idsync.accounts.listing.CHUNK", CHUNK)
    add_many(service.app, MANY)
    return service


def add_many(app: Flask, number: int) -> None:
    """Accounts in one transaction, as a site that is adopted has them."""
    with app.app_context():
        db.session.add_all(User(name=f"Person {one}") for one in range(number))
        db.session.commit()


def rename_all(app: Flask) -> None:
    with app.app_context():
        for user in db.session.scalars(db.select(User)):
            user.name += " again"
        db.session.commit()


def check_nothing_is_left(service: Service, files: Files) -> None:
    """No file, no lock, no transaction: the next whole list comes at once."""
    assert files.open == 0
    files.at_write.clear()
    assert len(service.whole()["accounts"]) == MANY
    assert files.open == 0
    if service.app.config["SQLALCHEMY_DATABASE_URI"].startswith("postgresql"):
        waiting = "SELECT state FROM pg_stat_activity WHERE datname = current_database()"
        assert not [row for row in rows(service.app, waiting) if "transaction" in str(row.state)]


def test_a_reader_that_goes_away_leaves_nothing(service: Service, files: Files) -> None:
    """The server closes what it was sending; the snapshot had ended before."""
    program = service.app.test_client()
    answer = program.get(ACCOUNTS, auth=service.client.basic, buffered=False)
    part = next(answer.iter_encoded())
    assert len(part) < answer.content_length
    assert files.open == 1
    assert len(service.whole()["accounts"]) == MANY  # a slow reader keeps nobody from the next one
    answer.close()
    check_nothing_is_left(service, files)


@pytest.mark.parametrize("database_server", ["postgresql"], indirect=True)
def test_a_database_that_dies_in_mid_list_is_503(
    service: Service, files: Files, database_url: str
) -> None:
    """Not half a list: a consumer would take those who are missing away. Changes alike."""

    def die() -> None:
        databases.end_connections(database_url)

    files.at_write = dict.fromkeys((1, 2, 3), die)
    check_unavailable(service.list())
    files.at_write.clear()
    cursor = service.whole()["cursor"]
    rename_all(service.app)
    files.at_write = {2: die}
    check_unavailable(service.list(since=cursor))
    files.at_write.clear()
    assert len(service.changes(cursor)["accounts"]) == MANY
    check_nothing_is_left(service, files)


@pytest.mark.parametrize("database_server", ["sqlite"], indirect=True)
def test_a_disk_that_fails_in_mid_list_is_503(service: Service, files: Files) -> None:
    """SQLite says so by the same kind of error."""

    def fail() -> None:
        raise OperationalError("SELECT", {}, sqlite3.OperationalError("disk I/O error"))

    files.at_write[2] = fail
    check_unavailable(service.list())
    check_nothing_is_left(service, files)


def test_a_full_disk_in_mid_list_leaves_nothing(service: Service, files: Files) -> None:
    """The temporary file cannot be written."""

    def fail() -> None:
        raise OSError(28, "No space left on device")

    files.at_write[2] = fail
    with pytest.raises(OSError, match="No space"):
        service.list()
    check_nothing_is_left(service, files)


def check_unavailable(answer: Any) -> None:
    assert answer.status_code == 503
    assert answer.json == {"error": "The database is away; try again."}
    assert int(answer.headers["Retry-After"]) > 0
    assert "ETag" not in answer.headers
