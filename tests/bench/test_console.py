"""Finding people among a million in the console, beside the bare indexed query that does the same.

PostgreSQL only: that is where a million accounts live. The number of accounts is taken from
IDSYNC_BENCH_CONSOLE, a million where it is not set.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from flask import Flask
from sqlalchemy import make_url, text

import console_kit
import databases
import hosting
from host_app.models import db, identity

pytestmark = pytest.mark.bench

ACCOUNTS = int(os.environ.get("IDSYNC_BENCH_CONSOLE", "1000000"))
RUNS = 50
PAGE = 50  # people
FAR_FROM_A_SCAN = 100  # milliseconds; reading a million rows takes several times that

# Made by the database: a million commands would take hours.
FILL = (
    """
    INSERT INTO person (id, name, email, created_at)
    SELECT n, 'Person ' || md5(n::text), 'p' || n || '@example.org', now()
    FROM generate_series(1, :n) n
    """,
    """
    INSERT INTO idsync_account (account_key, subject, name_key, email_key, legacy_password,
        email_verified, tags, mfa, administrator, epoch, revision, updated_at)
    SELECT n, md5('id' || n), 'person ' || md5(n::text), 'p' || n || '@example.org', false, false,
        CASE WHEN n % 10000 = 0 THEN '["rare", "wiki"]'::jsonb ELSE '["wiki"]'::jsonb END,
        false, false, '\\x0000000000000000', n, now()
    FROM generate_series(1, :n) n
    """,
    "SELECT setval('person_id_seq', :n)",
    "INSERT INTO idsync_directory VALUES (1, '\\x0000000000000000', :n)",
)

BARE = """
    SELECT a.subject, p.name, p.email, a.tags, a.disabled_by, a.mfa, a.administrator
    FROM idsync_account a JOIN person p ON p.id = a.account_key
    WHERE {condition} ORDER BY a.{order}, a.subject LIMIT 51
"""
BEGINS = "a.{column} >= '{prefix}' AND a.{column} < '{prefix}\U0010ffff'"


@pytest.fixture
def filled() -> Iterator[Flask]:
    """A host with many accounts."""
    try:
        with databases.postgresql_database() as url:
            app = hosting.make_host(url, **hosting.NO_LIMITS)
            begun = time.perf_counter()
            with app.app_context():
                for statement in FILL:
                    db.session.execute(text(statement), {"n": ACCOUNTS})
                db.session.commit()
                with db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as apart:
                    apart.execute(text("VACUUM ANALYZE"))
            print(f"\n\n{ACCOUNTS:,} accounts, made in {time.perf_counter() - begun:.0f} s\n")
            yield app
            hosting.close_host(app)
    except databases.PostgresqlIsAway as away:
        pytest.skip(str(away))


def bare(column: str, prefix: str, tag: str | None = None, later: str = "true") -> str:
    """The least that a page of people beginning with this can cost."""
    condition = BEGINS.format(column=column, prefix=prefix) if prefix else later
    if tag is not None:
        condition += f" AND a.tags @> '[\"{tag}\"]'"
    return BARE.format(condition=condition, order=column)


def median(work: Callable[[], Any]) -> float:
    """Milliseconds, once everything is warm."""
    work()
    times = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1000


def test_people_are_found_among_a_million(filled: Flask) -> None:
    """The figures are printed; no page costs what looking at everybody would."""
    desk = console_kit.sit_down(filled)
    after = follow(filled)
    later = "(a.name_key, a.subject) > (SELECT name_key, subject FROM idsync_account WHERE {})"
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "first page": (bare("name_key", ""), {}),
        "a later page": (bare("name_key", "", later=later.format("account_key = 1")), after),
        "name begins with": (bare("name_key", "person ab"), {"prefix": "Person AB"}),
        "e-mail begins with": (bare("email_key", "p77777"), {"prefix": "p77777"}),
        "id begins with": (bare("subject", "abc"), {"prefix": "abc"}),
        "nobody begins with": (bare("name_key", "zzz"), {"prefix": "zzz"}),
        "a tag of everybody": (bare("name_key", "", "wiki"), {"tag": "wiki"}),
        "a rare tag": (bare("name_key", "", "rare"), {"tag": "rare"}),
    }
    url = make_url(filled.config["SQLALCHEMY_DATABASE_URI"])
    connection = psycopg.connect(
        psycopg.conninfo.make_conninfo(
            host=url.host, port=url.port, user=url.username, dbname=url.database
        ),
        password=url.password,
        autocommit=True,
    )
    print(f"median ms{'':11}{'bare query':>12}{'search':>10}{'page':>10}   page to bare query")
    with connection:
        for label, (query, search) in asked.items():
            least = median(lambda q=query: connection.execute(q).fetchall())
            with filled.app_context():
                found = median(lambda s=search: identity.directory.search(limit=PAGE, **s))
            page = median(lambda s=search: show(desk, s))
            print(f"{label:20}{least:12.2f}{found:10.2f}{page:10.2f}{page / least:12.1f}")
            assert found < FAR_FROM_A_SCAN + 2 * least
    print(f"{'overview':20}{'':22}{median(lambda: desk.text()):10.2f}")


def follow(app: Flask) -> dict[str, str]:
    """How the twentieth page is asked for."""
    after: str | None = None
    with app.app_context():
        for _ in range(20):
            after = identity.directory.search(after=after, limit=PAGE).after
    return {"after": after or ""}


def show(desk: console_kit.Desk, search: dict[str, str]) -> None:
    names = {"prefix": "q"}
    desk.text("/people", **{names.get(name, name): value for name, value in search.items()})
