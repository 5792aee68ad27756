"""The reference host over real HTTP, once per kind of database, and a copy for each test."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

import databases
from consumer_kit import Consumer, FalseService, consumer, false_service
from live import LiveHost, live_database, live_host

numbers = itertools.count(1)


@pytest.fixture(scope="session")
def host(
    database_server: str | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveHost]:
    folder = tmp_path_factory.mktemp("host")
    with live_database(database_server, folder) as url, live_host(url, folder) as running:
        yield running


@pytest.fixture(scope="session")
def copy_server(database_server: str | None) -> Iterator[str | None]:
    """A second database server for the copies, of the same kind."""
    if database_server is None:
        yield None
        return
    with databases.postgresql_database() as url:
        yield url


@pytest.fixture
def copy_url(copy_server: str | None, tmp_path: Path) -> str:
    """An empty database for a copy."""
    if copy_server is None:
        return f"sqlite:///{tmp_path / 'copy.sqlite3'}"
    databases.empty_postgresql(copy_server)
    return copy_server


@pytest.fixture
def tag() -> str:
    """A tag that no other test has, so that tests do not see each other's people."""
    return f"wiki{next(numbers)}"


@pytest.fixture
def wiki(host: LiveHost, copy_url: str, tag: str) -> Iterator[Consumer]:
    """A service with an empty copy of those who have its tag."""
    with consumer(host, tag, copy_url) as service:
        yield service


@pytest.fixture
def false() -> Iterator[FalseService]:
    """An identity service that misbehaves as a test wants."""
    with false_service() as service:
        yield service
