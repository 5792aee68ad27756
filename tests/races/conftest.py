"""Processes that race one another, each with the reference host on the same real database."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import hosting
from races.crew import Crew, crew_of


@pytest.fixture
def settings(database_url: str) -> dict[str, Any]:
    """One configuration for every process of the host."""
    return hosting.configuration(database_url, **hosting.NO_LIMITS)


@pytest.fixture
def host(settings: dict[str, Any]) -> Iterator[Any]:
    """The host in this process, its tables made."""
    app = hosting.make_host(settings["SQLALCHEMY_DATABASE_URI"], **settings)
    yield app
    hosting.close_host(app)


@pytest.fixture
def crew(settings: dict[str, Any], host: Any) -> Iterator[Callable[[int], Crew]]:
    """Makes crews; ends their processes."""
    with ExitStack() as crews:
        yield lambda members: crews.enter_context(crew_of(members, settings))
