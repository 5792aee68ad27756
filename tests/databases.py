"""Databases for tests: a SQLite file, or a PostgreSQL database that nobody else uses meanwhile.

Nothing here needs pytest, so a script or another process may use it too. The PostgreSQL server is
the one that IDSYNC_TEST_POSTGRESQL names; its user must be allowed to create databases.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from sqlalchemy import URL, Connection, create_engine, make_url, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from prepared import set_aside

DEFAULT_POSTGRESQL = "postgresql+psycopg://postgres@127.0.0.1:5432/postgres"
CONNECT_TIMEOUT = 5  # seconds
END_TIMEOUT = 30  # seconds that a connection gets to end
# The first key of the advisory locks that tell which test databases are in use; any number will do.
LOCK_CLASS = 0x1D5F


class PostgresqlIsAway(Exception):
    """No PostgreSQL answers at the address the tests were given."""


def sqlite_url(folder: Path) -> str:
    """The address of a SQLite database in this folder; the file appears at the first connect."""
    return f"sqlite:///{folder / 'idsync.sqlite3'}"


@contextmanager
def postgresql_database() -> Iterator[str]:
    """Lend an empty PostgreSQL database, give its address, and drop it at the end.

    Databases are numbered. Whoever holds the advisory lock with that number owns the database, so
    processes do not meet, and what a killed one left behind goes to the next.

    Raises PostgresqlIsAway.
    """
    server = make_url(os.environ.get("IDSYNC_TEST_POSTGRESQL") or DEFAULT_POSTGRESQL)
    with _connect(server) as connection:
        name = f"idsync_test_{_take_number(connection)}"
        connection.execute(text(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
        # template0 because CREATE DATABASE fails while somebody is connected to the template.
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'"))
        try:
            yield server.set(database=name).render_as_string(hide_password=False)
        finally:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


def empty_postgresql(url: str) -> None:
    """Remove everything from a lent database; the host's own tables are kept beside it, for later.

    Connections that a test left open are closed first: their locks would make this wait for ever.
    """
    end_connections(url)
    with _connect(make_url(url)) as connection:
        set_aside(connection)


def end_connections(url: str) -> None:
    """End all connections to a PostgreSQL database, as its server does where a client is gone.

    Waits until they are gone: what they held is free then.
    """
    parsed = make_url(url)
    others = "FROM pg_stat_activity WHERE datname = :name AND pid <> pg_backend_pid()"
    with _connect(parsed) as connection:
        connection.execute(
            text(f"SELECT pg_terminate_backend(pid, :patience) {others}"),
            {"name": parsed.database, "patience": END_TIMEOUT * 1000},
        )


def _take_number(connection: Connection) -> int:
    take = text("SELECT pg_try_advisory_lock(:lock_class, :number)")
    return next(
        number
        for number in count(1)
        if connection.scalar(take, {"lock_class": LOCK_CLASS, "number": number})
    )


@contextmanager
def _connect(url: URL) -> Iterator[Connection]:
    engine = create_engine(
        url,
        poolclass=NullPool,
        isolation_level="AUTOCOMMIT",
        connect_args={"connect_timeout": CONNECT_TIMEOUT},
    )
    try:
        connection = engine.connect()
    except OperationalError as error:
        address = url.render_as_string(hide_password=True)
        reason = str(error.orig).partition("\n")[0]
        raise PostgresqlIsAway(f"PostgreSQL does not answer at {address} ({reason})") from error
    with connection:
        yield connection
