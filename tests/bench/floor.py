"""The least that a service on this database does: one prepared SELECT, or one committed UPDATE.

A WSGI application without a framework, served by the same gunicorn as the host. FLOOR_DATABASE is
the database's address as SQLAlchemy writes it; the path is `/select` or `/update`, the query a
grant's id in hexadecimal digits.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterable
from typing import Any

import psycopg

ADDRESS = os.environ["FLOOR_DATABASE"]
SELECT = "SELECT * FROM idsync_grant WHERE id = {}"
UPDATE = "UPDATE idsync_grant SET generation = generation + 1 WHERE id = {} AND revoked_at IS NULL"

_local = threading.local()


def application(
    environ: dict[str, Any], start_response: Callable[[str, list[tuple[str, str]]], Any]
) -> Iterable[bytes]:
    """Read or write one grant."""
    found = _ask(environ["PATH_INFO"] == "/select", bytes.fromhex(environ["QUERY_STRING"]))
    body = b'{"found": %d}' % found
    start_response(
        "200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    )
    return [body]


def _ask(reading: bool, grant_id: bytes) -> bool:
    if ADDRESS.startswith("sqlite"):
        connection = _connection(_sqlite)
        statement = (SELECT if reading else UPDATE).format("?")
        cursor = connection.execute(statement, (grant_id,))
    else:
        connection = _connection(_postgresql)
        statement = (SELECT if reading else UPDATE).format("%s")
        cursor = connection.execute(statement, (grant_id,), prepare=True)
    return cursor.fetchone() is not None if reading else cursor.rowcount == 1


def _connection(connect: Callable[[], Any]) -> Any:
    if not hasattr(_local, "connection"):
        _local.connection = connect()
    return _local.connection


def _sqlite() -> sqlite3.Connection:
    """With the settings that the reference host gives its connections."""
    connection = sqlite3.connect(ADDRESS.removeprefix("sqlite:///"), isolation_level=None)
    for pragma in ("busy_timeout = 10000", "journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _postgresql() -> psycopg.Connection[Any]:
    address = ADDRESS.replace("postgresql+psycopg", "postgresql", 1)
    return psycopg.connect(address, autocommit=True)
