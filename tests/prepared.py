"""The reference host's tables, made once in each test process and handed from test to test.

Making them takes twenty times as long as emptying them. On SQLite a file with them is copied. On
PostgreSQL they are emptied and set aside in a schema of their own when the database is, and take
the place of the empty one for the next who asks; unless something is not as it was made. Nothing
here needs pytest.
"""

import json
import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

from flask import Flask
from sqlalchemy import Connection, create_engine, text

from host_app.models import db

ASIDE = "set_aside"

LARGEST = 64 * 1024
"""Bytes of a table that is worth keeping: a larger one is slow to read, also when it is empty."""

# What a test may have changed; and whether statistics were gathered, which are those of its rows.
FINGERPRINT = text(
    """
    SELECT md5(string_agg(part, E'\\n' ORDER BY part)) FROM (
        SELECT concat_ws(' ', relname, attname, format_type(atttypid, atttypmod), attnotnull,
                         attcollation, pg_get_expr(adbin, adrelid)) AS part
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE relnamespace = 'public'::regnamespace AND attnum > 0
        UNION ALL SELECT concat_ws(' ', relname, relkind, relpersistence, relrowsecurity,
                                   relhasrules, relacl, reloptions)
                  FROM pg_class WHERE relnamespace = 'public'::regnamespace
        UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
        UNION ALL SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint
                  WHERE connamespace = 'public'::regnamespace
        UNION ALL SELECT concat_ws(' ', tgname, tgenabled)
                  FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
                  WHERE relnamespace = 'public'::regnamespace
        UNION ALL SELECT proname || md5(prosrc) FROM pg_proc
                  WHERE pronamespace = 'public'::regnamespace
        UNION ALL SELECT typname FROM pg_type
                  WHERE typnamespace = 'public'::regnamespace AND typtype IN ('e', 'd')
        UNION ALL SELECT relname || ' is analyzed or large' FROM pg_class
                  WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
                  AND (reltuples >= 0 OR pg_relation_size(oid) > :largest)
    ) AS parts
    """
)


def make_tables(app: Flask) -> None:
    """Make the host's tables in an empty database; what is there already stays."""
    with app.app_context():
        url = db.engine.url
        if url.get_backend_name() == "postgresql":
            _make_in_postgresql()
        elif url.database in (None, "", ":memory:") or _has_tables(Path(str(url.database))):
            db.create_all()
        else:
            db.engine.dispose()
            Path(str(url.database)).write_bytes(_sqlite_file())


def set_aside(connection: Connection) -> None:
    """Leave an empty schema `public`; of what was in it, keep the tables that were made here."""
    kept = connection.scalar(text("SELECT obj_description('public'::regnamespace, 'pg_namespace')"))
    made = json.loads(kept) if kept and kept.startswith("{") else None
    if made is None or made["fingerprint"] != _fingerprint(connection):
        connection.execute(text("DROP SCHEMA public CASCADE; CREATE SCHEMA public"))
        return
    # A connection that was ended may still be about to commit a row; it has to fail first.
    held = ", ".join(f'public."{name}"' for name in made["tables"])
    emptied = "".join(f'DELETE FROM public."{name}"; ' for name in made["tables"])  # noqa: S608
    connection.execute(
        text(
            f"LOCK TABLE {held} IN ACCESS EXCLUSIVE MODE; {emptied}"  # noqa: S608
            "SELECT setval(oid, 1, false) FROM pg_class"
            "    WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace;"
            f"DROP SCHEMA IF EXISTS {ASIDE} CASCADE; ALTER SCHEMA public RENAME TO {ASIDE};"
            "CREATE SCHEMA public"
        )
    )


def _make_in_postgresql() -> None:
    with db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if connection.scalar(text("SELECT 1 FROM pg_tables WHERE schemaname = 'public' LIMIT 1")):
            db.create_all()
        elif _are_as_new(connection):
            swap = f"DROP SCHEMA public CASCADE; ALTER SCHEMA {ASIDE} RENAME TO public"
            connection.execute(text(swap))
        else:
            connection.execute(text(f"DROP SCHEMA IF EXISTS {ASIDE} CASCADE"))
            db.create_all()
            children_first = [table.name for table in reversed(db.metadata.sorted_tables)]
            made = {"tables": children_first, "fingerprint": _fingerprint(connection)}
            # Utility statements take no parameters; there is no quote in any of this.
            connection.execute(text(f"COMMENT ON SCHEMA public IS '{json.dumps(made)}'"))


def _are_as_new(connection: Connection) -> bool:
    """Whether tables are set aside, without rows and statistics."""
    tables = text(
        "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(:schema)"
        " AND relkind = 'r' AND reltuples < 0"
    )
    names = connection.scalars(tables, {"schema": ASIDE}).all()
    if {*names} != {*db.metadata.tables}:
        return False
    rows = " UNION ALL ".join(f'(SELECT 1 FROM {ASIDE}."{one}" LIMIT 1)' for one in names)  # noqa: S608
    return connection.execute(text(rows)).first() is None


def _fingerprint(connection: Connection) -> str:
    return str(connection.scalar(FINGERPRINT, {"largest": LARGEST}))


def _has_tables(file: Path) -> bool:
    with closing(sqlite3.connect(file)) as connection:
        return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


@cache
def _sqlite_file() -> bytes:
    """A file with the tables and nothing in them."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "tables.sqlite3")
        engine = create_engine(f"sqlite:///{file}")
        db.metadata.create_all(engine)
        engine.dispose()
        return file.read_bytes()
