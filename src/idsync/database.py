"""How idsync talks to the host's database: whole transactions, retried where that is safe.

The host's engine and session are used as they are. A write transaction begins with its write, so
that SQLite never has to upgrade a read snapshot, and is run again as a whole on a deadlock, a
serialization failure or a busy database.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import JSON, Connection, Table, false, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session, scoped_session

T = TypeVar("T")
DatabaseSession = Session | scoped_session[Any]

ATTEMPTS = 8
LONGEST_PAUSE = 0.2
"""Seconds; pauses grow towards this with jitter, so that rivals do not march in step."""

LONGEST_TRIAL = 5
"""Seconds after which nothing is tried again: a busy SQLite has waited its whole busy timeout."""

# SQLSTATE class 40: serialization_failure, deadlock_detected (PostgreSQL, appendix A).
_RETRIED_SQLSTATES = frozenset({"40001", "40P01"})

_jsonb = JSONB()
# Alembic on another database than PostgreSQL writes `astext_type=Text()` into a migration and does
# not import Text; without the attribute it writes `postgresql.JSONB()`.
_jsonb.astext_type = None  # type: ignore[assignment]
Json = JSON().with_variant(_jsonb, "postgresql")


COMMITTED = "idsync_committed"
"""Key in a session's info: a transaction of ours was, or may have been, committed."""


def write(session: DatabaseSession, work: Callable[[Connection], T]) -> T:
    """Run `work(connection)` as one committed transaction and return what it returned.

    `work` may run several times. What the host left unsaved in the session, such as its own
    `before_request` may have, is committed with it or just before; if the first attempt fails, it
    is lost with that.
    """
    if session.connection().dialect.name == "sqlite":
        session.commit()
    begun = time.monotonic()
    for attempt in range(1, ATTEMPTS + 1):
        try:
            result = work(session.connection())
            session.info[COMMITTED] = True
            session.commit()
            return result
        except DBAPIError as error:
            session.rollback()
            late = attempt == ATTEMPTS or time.monotonic() - begun > LONGEST_TRIAL
            if late or not may_be_retried(error):
                raise
            time.sleep(random.uniform(0, min(LONGEST_PAUSE, 0.002 * 2**attempt)))  # noqa: S311
        except BaseException:
            session.rollback()
            raise
    raise AssertionError("unreachable")


def begin_write(session: DatabaseSession, table: Table) -> None:
    """Take SQLite's write lock before reading what is about to be changed.

    Other databases lock rows instead (`FOR UPDATE`). `table` is any table of ours: where the host
    has begun a transaction already, an UPDATE of no row takes the lock.
    """
    connection = session.connection()
    if connection.dialect.name != "sqlite":
        return
    raw: Any = connection.connection.driver_connection
    if raw.in_transaction:
        connection.execute(update(table).where(false()).values({next(iter(table.c)): None}))
    else:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def may_be_retried(error: DBAPIError) -> bool:
    """Whether the transaction failed because of its neighbours and surely left nothing behind."""
    if getattr(error.orig, "sqlstate", None) in _RETRIED_SQLSTATES:
        return True
    # sqlite3 tells contention apart by code from Python 3.11 on: SQLITE_BUSY is 5, LOCKED is 6,
    # extended codes carry them in the low byte.
    return (getattr(error.orig, "sqlite_errorcode", 0) & 0xFF) in (5, 6)
