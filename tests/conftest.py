"""Every test that asks for `database_url` runs on SQLite and on PostgreSQL."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from flask import Flask
from flask.testing import FlaskClient

import databases
import hosting

# How long an example takes is the machine's affair: a busy one must not fail a rule that holds.
hypothesis.settings.register_profile(
    "patient", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("patient")


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def database_server(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """The PostgreSQL database of this test process, or None for SQLite."""
    if request.param == "sqlite":
        yield None
        return
    try:
        with databases.postgresql_database() as url:
            yield url
            return
    except databases.PostgresqlIsAway as away:
        reason = f"{away}; set IDSYNC_TEST_POSTGRESQL or start one"
    if os.environ.get("IDSYNC_REQUIRE_POSTGRESQL") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(f"{reason}; the SQLite tests ran")


@pytest.fixture
def database_url(database_server: str | None, tmp_path: Path) -> str:
    """The address of an empty database, as SQLAlchemy writes it.

    An engine that a test makes on it must be disposed by that test.
    """
    if database_server is None:
        return databases.sqlite_url(tmp_path)
    databases.empty_postgresql(database_server)
    return database_server


@pytest.fixture
def app(database_url: str) -> Iterator[Flask]:
    """The reference host on an empty database whose tables are made; see `hosting` for the rest."""
    app = hosting.make_host(database_url)
    yield app
    hosting.close_host(app)


@pytest.fixture
def settings(database_url: str) -> dict[str, Any]:
    """One configuration for every process of a host."""
    return hosting.configuration(database_url, **hosting.NO_LIMITS)


@pytest.fixture
def host(settings: dict[str, Any]) -> Iterator[Flask]:
    """The host in this process where others have it too; its tables are made."""
    app = hosting.make_host(settings["SQLALCHEMY_DATABASE_URI"], **settings)
    yield app
    hosting.close_host(app)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """A browser without cookies."""
    return app.test_client()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[pytest.TestReport]:
    """Report the missing PostgreSQL once, here, instead of once for each test that wanted it."""
    report = yield
    if report.skipped and "PostgreSQL does not answer" in str(report.longrepr):
        _, _, reason = report.longrepr
        report.longrepr = (__file__, 1, reason)
    return report
