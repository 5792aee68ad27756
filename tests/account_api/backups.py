"""Taking a database back to what it was, as an operator does after losing it."""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flask import Flask
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.pool import NullPool

import databases
import hosting


class Backup(ABC):
    """What a host's database held when it was taken. The host works on after each step."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._url = make_url(app.config["SQLALCHEMY_DATABASE_URI"])

    @abstractmethod
    def restore(self) -> None:
        """Lose all that has happened since."""


class SqliteBackup(Backup):
    """A copy of the file; the last connection that is closed moves the WAL into it."""

    def __init__(self, app: Flask) -> None:
        super().__init__(app)
        self._file = Path(str(self._url.database))
        self._copy = self._file.with_suffix(".backup")
        hosting.close_host(app)
        shutil.copyfile(self._file, self._copy)

    def restore(self) -> None:
        hosting.close_host(self._app)
        for suffix in ("-wal", "-shm"):
            self._file.with_name(self._file.name + suffix).unlink(missing_ok=True)
        shutil.copyfile(self._copy, self._file)


class PostgresqlBackup(Backup):
    """A database made with the host's as its template, and the other way round."""

    def __init__(self, app: Flask) -> None:
        super().__init__(app)
        self._name, self._copy = self._url.database, f"{self._url.database}_backup"
        self._run(f"DROP DATABASE IF EXISTS {self._copy}", self._create(self._copy, self._name))

    def restore(self) -> None:
        self._run(f"DROP DATABASE {self._name}", self._create(self._name, self._copy))

    def forget(self) -> None:
        """Drop the copy."""
        self._run(f"DROP DATABASE {self._copy}")

    @staticmethod
    def _create(name: str | None, template: str | None) -> str:
        return f"CREATE DATABASE {name} TEMPLATE {template}"

    def _run(self, *statements: str) -> None:
        hosting.close_host(self._app)
        databases.end_connections(self._app.config["SQLALCHEMY_DATABASE_URI"])
        server = self._url.set(database="postgres")
        engine = create_engine(server, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            for statement in statements:
                connection.execute(text(statement))


@contextmanager
def backup_of(app: Flask) -> Iterator[Backup]:
    """A backup of the host's database as it is now."""
    if app.config["SQLALCHEMY_DATABASE_URI"].startswith("sqlite"):
        yield SqliteBackup(app)
        return
    backup = PostgresqlBackup(app)
    try:
        yield backup
    finally:
        backup.forget()
