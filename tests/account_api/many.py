"""Many accounts in a host's database, in seconds, as if made one by one. Needs no pytest."""

import datetime as dt
import json
import secrets
from random import Random
from typing import Any

import click
from flask import Flask
from sqlalchemy import insert, text

from host_app.models import User, db
from idsync.accounts.passwords import PURPOSE

BATCH = 10_000
TAGS = ("wiki", "mail", "tracker", "files", "chat", "crm", "администратор", "наставник", "ученик")


def fill(app: Flask, number: int, *, show_progress: bool = False) -> None:
    """Put so many accounts into an empty directory, each with four tags and a hash."""
    random = Random(1)  # noqa: S311 - the same tags in each run
    now = dt.datetime.now(dt.UTC).replace(microsecond=0, tzinfo=None)
    with app.app_context():
        parts, connection = app.extensions["idsync"], db.session.connection()
        label = f"Filling {db.engine.name}"
        with click.progressbar(length=number, label=label, hidden=not show_progress) as bar:
            for first in range(1, number + 1, BATCH):
                numbers = range(first, min(first + BATCH, number + 1))
                people = [person(one, now) for one in numbers]
                store(connection, User.__table__, people)
                accounts = [account(parts, random, one, now) for one in numbers]
                store(connection, parts.models.table, accounts)
                bar.update(len(numbers))
        directory = {"id": 1, "incarnation": secrets.token_bytes(8), "revision": number}
        connection.execute(insert(db.metadata.tables["idsync_directory"]), directory)
        if db.engine.name != "sqlite":
            connection.execute(text(f"SELECT setval('person_id_seq', {number})"))
        db.session.commit()
        with db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as apart:
            apart.execute(text("VACUUM ANALYZE" if db.engine.name != "sqlite" else "ANALYZE"))


def person(number: int, now: dt.datetime) -> dict[str, Any]:
    """A row of the host's table."""
    return {
        "id": number,
        "name": f"Ада Лавлейс {number}",
        "email": f"person{number}@example.org",
        "created_at": now,
    }


def account(parts: Any, random: Random, number: int, now: dt.datetime) -> dict[str, Any]:
    """Its companion row. Nobody computes a million hashes; random ones are as long."""
    subject = secrets.token_hex(16)
    verifier = f"pbkdf2$600000${secrets.token_hex(16)}${secrets.token_hex(32)}"
    sealer = parts.passwords._sealer
    return {
        "account_key": number,
        "subject": subject,
        "password": sealer.seal(verifier.encode(), purpose=PURPOSE, subject=subject),
        "legacy_password": False,
        "email_key": f"person{number}@example.org",
        "name_key": f"ада лавлейс {number}",
        "email_verified": False,
        "tags": sorted(random.sample(TAGS, 4)),
        "disabled_by": None,
        "mfa": number % 10 == 0,
        "administrator": False,
        "epoch": secrets.token_bytes(8),
        "revision": number,
        "updated_at": now,
    }


def store(connection: Any, table: Any, rows: list[dict[str, Any]]) -> None:
    """Insert rows the quickest way there is."""
    if connection.dialect.name == "sqlite":
        connection.execute(insert(table), rows)
        return
    raw, names = connection.connection.driver_connection, ", ".join(rows[0])
    with raw.cursor().copy(f"COPY {table.name} ({names}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(
                [json.dumps(one) if isinstance(one, list) else one for one in row.values()]
            )
