"""`CopyStore`: the copy in a database, who may change it, and how far it is.

One row, `idsync_copy_state`, holds all that is not a person. Whoever wants to change the copy
claims that row for a while. A change is one transaction that ends with an update of the row; if
somebody else has it by then, the update finds nothing and everything is rolled back.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError
from sqlalchemy.schema import CreateIndex, CreateTable

from idsync.consumer.account import Account
from idsync.consumer.errors import PullInProgress
from idsync.consumer.people import CopiedPeople, People
from idsync.consumer.values import (
    CopyState,
    PullReport,
    costs_from_json,
    costs_to_json,
    report_from_json,
    report_to_json,
)

BUSY_TIMEOUT = 10_000
"""Milliseconds that a connection to SQLite waits for another one's write."""

LONGEST_CLAIM = 3600
"""Seconds; a claim that reaches further was made by a clock that has been set back since."""


class CopyStore:
    """The copy in the database behind `engine`, with the people in `people` or a table of ours.

    `metadata` holds the tables, for services that make theirs with migrations.
    """

    def __init__(self, engine: Engine, people: People | None = None) -> None:
        self.engine = engine
        self.metadata = sa.MetaData()
        self._people: People = CopiedPeople(self.metadata) if people is None else people
        self._state = sa.Table(
            "idsync_copy_state",
            self.metadata,
            sa.Column("key", sa.Integer, primary_key=True, autoincrement=False),
            sa.Column("cursor", sa.Text),
            sa.Column("generation", sa.BigInteger, nullable=False, default=0),
            sa.Column("pulled_at", sa.Float(53)),
            sa.Column("prompted_at", sa.Float(53), nullable=False, default=0),
            sa.Column("holder", sa.Text),
            sa.Column("held_until", sa.Float(53), nullable=False, default=0),
            sa.Column("costs", sa.Text, nullable=False, default="{}"),
            sa.Column("decoy_key", sa.Text, nullable=False),
            sa.Column("report", sa.Text),
        )

    def create_tables(self) -> None:
        """Make the tables and the one row where they are missing; any number of times at once."""
        for attempt in (1, 2):
            try:
                with self.engine.begin() as connection:
                    for table in self.metadata.sorted_tables:
                        connection.execute(CreateTable(table, if_not_exists=True))
                        for index in sorted(table.indexes, key=lambda one: one.name or ""):
                            connection.execute(CreateIndex(index, if_not_exists=True))
                break
            except (IntegrityError, OperationalError, ProgrammingError):
                if attempt == 2:  # the first time, another process was making them
                    raise
        self.state()

    def state(self) -> CopyState:
        """The copy's own row as it is now."""
        with self.engine.connect() as connection:
            found = self._row(connection)
        if found is None:
            self._insert_row()
            with self.engine.connect() as connection:
                found = self._row(connection)
        assert found is not None  # noqa: S101 - inserted above, and never deleted
        return found

    def close(self) -> None:
        """Close the connections; the next use opens new ones."""
        self.engine.dispose()

    # --- who changes the copy ------------------------------------------------------------------

    def try_claim(self, holder: str, *, now: float, until: float) -> bool:
        """Claim the right to change the copy until then, unless somebody has it."""
        state = self.state()
        if state.holder is not None and now <= state.held_until <= now + LONGEST_CLAIM:
            return False
        columns = self._state.c
        unheld = (
            columns.holder.is_(None)
            | (columns.held_until < now)
            | (columns.held_until > now + LONGEST_CLAIM)
        )
        return self._update(unheld, holder=holder, held_until=until)

    def renew(self, holder: str, until: float) -> bool:
        """Keep a claim longer; False when it was lost."""
        return self._update(self._state.c.holder == holder, held_until=until)

    def release(self, holder: str) -> None:
        """Give up a claim, if it is still ours."""
        self._update(self._state.c.holder == holder, holder=None)

    def try_prompt(self, now: float, interval: float) -> bool:
        """Whether a failed sign-in may cause a pull: once in `interval` seconds, for one caller."""
        prompted_at = self.state().prompted_at
        # Another process may have noted a moment after our `now`; further off is a wrong clock.
        if abs(now - prompted_at) < interval:
            return False
        return self._update(self._state.c.prompted_at == prompted_at, prompted_at=now)

    # --- changing it ---------------------------------------------------------------------------

    @contextmanager
    def changing(self, holder: str) -> Iterator[CopyChange]:
        """A transaction on the copy, which `CopyChange.finish` must end.

        Raises PullInProgress when the claim was lost.
        """
        with self.engine.begin() as connection:
            if connection.dialect.name == "sqlite":
                # SQLite lets one transaction write, and only if it begins with a write.
                self._fenced(connection, holder, {"holder": holder})
            change = CopyChange(self, connection, holder)
            yield change
            if not change.finished:
                raise AssertionError("a change of the copy was not finished")

    def _fenced(self, connection: Connection, holder: str, values: dict[str, Any]) -> None:
        own = sa.update(self._state).where(self._state.c.holder == holder).values(**values)
        if connection.execute(own).rowcount != 1:
            raise PullInProgress("Another process has taken over; this change is dropped.")

    # --- reading it ----------------------------------------------------------------------------

    def look_up(self, email: str) -> tuple[CopyState | None, Account | None]:
        """The copy's row and the person with this e-mail address, read together."""
        with self.engine.connect() as connection:
            return self._row(connection), self._people.by_email(connection, email)

    def by_email(self, email: str) -> Account | None:
        """The person with this e-mail address, compared without case."""
        with self.engine.connect() as connection:
            return self._people.by_email(connection, email)

    def by_id(self, id: str) -> Account | None:
        """The person with this id."""
        with self.engine.connect() as connection:
            return self._people.by_id(connection, id)

    def count(self) -> int:
        """How many people the copy has."""
        with self.engine.connect() as connection:
            return self._people.count(connection)

    # --- details -------------------------------------------------------------------------------

    @property
    def people(self) -> People:
        """Where the people are."""
        return self._people

    def _row(self, connection: Connection) -> CopyState | None:
        row = connection.execute(sa.select(self._state)).one_or_none()
        return (
            None
            if row is None
            else CopyState(
                cursor=row.cursor,
                generation=row.generation,
                pulled_at=row.pulled_at,
                prompted_at=row.prompted_at,
                holder=row.holder,
                held_until=row.held_until,
                costs=costs_from_json(row.costs),
                decoy_key=row.decoy_key,
                report=report_from_json(row.report),
            )
        )

    def _insert_row(self) -> None:
        values = {"key": 1, "decoy_key": secrets.token_hex(32)}
        with suppress(IntegrityError), self.engine.begin() as connection:
            # Refused when another process was first.
            connection.execute(sa.insert(self._state).values(**values))

    def _update(self, where: sa.ColumnElement[bool], **values: Any) -> bool:
        with self.engine.begin() as connection:
            updated = connection.execute(sa.update(self._state).where(where).values(**values))
            return updated.rowcount == 1


class CopyChange:
    """A change of the copy under way, in one transaction."""

    def __init__(self, store: CopyStore, connection: Connection, holder: str) -> None:
        self.people = store.people
        self.connection = connection
        self.finished = False
        self._store = store
        self._holder = holder

    def finish(self) -> None:
        """End a change of single people."""
        self._store._fenced(self.connection, self._holder, {"holder": self._holder})
        self.finished = True

    def finish_pull(
        self,
        *,
        cursor: str,
        generation: int,
        pulled_at: float,
        costs: dict[int, int],
        report: PullReport,
    ) -> None:
        """End a pull: remember how far it came, and give up the claim."""
        values = {
            "cursor": cursor,
            "generation": generation,
            "pulled_at": pulled_at,
            "costs": costs_to_json(costs),
            "report": report_to_json(report),
            "holder": None,
        }
        self._store._fenced(self.connection, self._holder, values)
        self.finished = True


def open_store(url: str, people: People | None = None) -> CopyStore:
    """The copy at a database address, as "sqlite:////var/lib/wiki/accounts.sqlite3".

    With SQLite, readers go on while a pull writes, and a new file is for its owner only. Makes
    the tables where they are missing.
    """
    engine = sa.create_engine(url, pool_pre_ping=True, hide_parameters=True)
    if engine.dialect.name == "sqlite":
        _make_private(engine.url.database)
        event.listen(engine, "connect", _prepare_sqlite)
    store = CopyStore(engine, people)
    store.create_tables()
    return store


def _make_private(file: str | None) -> None:
    """Make a file that is missing so that only its owner can read it: it will hold hashes."""
    if file and not file.startswith((":", "file:")):
        with suppress(OSError):  # SQLite says it better
            os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))


def _prepare_sqlite(connection: Any, record: Any) -> None:
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT:d}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.close()
