"""Targets for hostile requests, one on each database for the whole run."""

from collections.abc import Iterator

import pytest

import hosting
from hostile.target import Target
from live import live_database

# What is tried here is not guessing.
NO_LIMITS = {"IDSYNC_ADDRESS_LIMIT": "1000000 per second", "IDSYNC_ACCOUNT_TRIES": 1_000_000}


@pytest.fixture(scope="session")
def target(
    database_server: str | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Target]:
    """A host in this process."""
    folder = tmp_path_factory.mktemp("hostile")
    with live_database(database_server, folder) as url:
        app = hosting.make_host(url, **NO_LIMITS)
        try:
            yield Target(
                app,
                hosting.add_person(app),
                hosting.register_application(app, "Target", "--first-party"),
                hosting.register_application(app, "Public target", "--public", "--first-party"),
            )
        finally:
            hosting.close_host(app)
