"""A running host for the clients of a whole test run, on each database."""

from collections.abc import Iterator

import pytest
import requests
from flask import Flask

import hosting
from live import LiveHost, live_database, live_host


@pytest.fixture(scope="session")
def service(
    database_server: str | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveHost]:
    """The service that the clients sign in at."""
    folder = tmp_path_factory.mktemp("clients")
    with live_database(database_server, folder) as url, live_host(url, folder) as host:
        yield host


@pytest.fixture(scope="session")
def resident(service: LiveHost) -> hosting.Person:
    """Who signs in there."""
    return hosting.add_person(
        service.app, "Ада Лавлейс", "ada@example.org", "pass word", "--tag", "ученик"
    )


@pytest.fixture
def browser() -> Iterator[requests.Session]:
    """A browser without cookies."""
    with requests.Session() as session:
        yield session


@pytest.fixture
def person(app: Flask) -> hosting.Person:
    """Somebody at the host of one test."""
    return hosting.add_person(app)


@pytest.fixture
def application(app: Flask) -> hosting.Client:
    """An application at the host of one test."""
    return hosting.register_application(app)
