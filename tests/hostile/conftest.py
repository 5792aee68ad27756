"""Targets for hostile requests, one on each database for the whole run."""

from collections.abc import Iterator

import pytest

import hosting
from hostile.target import Target
from live import live_database


@pytest.fixture(scope="session")
def target(
    database_server: str | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Target]:
    """A host in this process."""
    folder = tmp_path_factory.mktemp("hostile")
    with live_database(database_server, folder) as url:
        app = hosting.make_host(url, **hosting.NO_LIMITS)
        try:
            yield Target(
                app,
                hosting.add_person(app),
                hosting.register_application(app, "Target", "--first-party"),
                hosting.register_application(app, "Public target", "--public", "--first-party"),
            )
        finally:
            hosting.close_host(app)
