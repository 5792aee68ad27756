"""The database: where it is, and how its connections behave.

PostgreSQL in production; without a configured address, a SQLite file in the service's folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flask import Flask
from sqlalchemy import event, make_url

from host_app.models import db

DATABASE_FILE = "identity.sqlite3"
LONGEST_WAIT = 10
"""Seconds that a SQLite connection waits for another one's write."""

CONNECT_TIMEOUT = 5
"""Seconds after which a PostgreSQL server that does not answer counts as away."""


def embedded_file(folder: Path) -> Path:
    """The file of the embedded database."""
    return folder / DATABASE_FILE


def embedded_address(folder: Path) -> str:
    """The address of the embedded database, as SQLAlchemy writes it."""
    return f"sqlite:///{embedded_file(folder)}"


def with_driver(address: str) -> str:
    """The address with the driver that is installed: managed databases give it without one."""
    scheme, separator, rest = address.partition("://")
    if separator and scheme in ("postgres", "postgresql"):
        return f"postgresql+psycopg://{rest}"
    return address


def engine_options(address: str) -> dict[str, Any]:
    """What the engine for this address needs to know."""
    # An error's text goes into the log; without what the statement was about.
    options: dict[str, Any] = {"hide_parameters": True}
    if make_url(address).get_backend_name() == "sqlite":
        return {**options, "connect_args": {"timeout": LONGEST_WAIT}}
    # Idsync's own views start over on a dead connection; ours ask beforehand.
    return {
        **options,
        "connect_args": {"connect_timeout": CONNECT_TIMEOUT},
        "pool_pre_ping": True,
    }


def prepare_connections(app: Flask) -> None:
    """Set what SQLite must be told on each connection of this application's engine."""
    with app.app_context():
        if db.engine.dialect.name == "sqlite":
            event.listen(db.engine, "connect", _prepare_sqlite)


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {LONGEST_WAIT * 1000}")
    cursor.execute("PRAGMA journal_mode = WAL")
    # FULL: a committed revocation or password survives a power cut, in WAL mode too.
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()
