"""The floor: the list as a bare WSGI application writes it, with nothing it could do without.

The same columns, read with the driver alone, a server-side cursor on PostgreSQL, and encoded with
msgspec. No authentication, no roles, no length, and the sealed password as it is. Served by
`gunicorn 'bench.bare_list:application'`; IDSYNC_BENCH_DATABASE is a SQLite file or what psycopg
takes.
"""

import datetime as dt
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
import psycopg

DATABASE = os.environ["IDSYNC_BENCH_DATABASE"]
CHUNK = 1000
STATEMENT = """
SELECT subject, name, email, tags, disabled_by, mfa, administrator, password, updated_at
FROM idsync_account JOIN person ON person.id = idsync_account.account_key
"""


class Account(msgspec.Struct):
    """A row as it travels; `password` in base64."""

    id: str
    name: str
    email: str | None
    tags: list[str]
    disabled: bool
    mfa: bool
    administrator: bool
    password: bytes | None
    updated_at: dt.datetime | str


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Type", "application/json")])
    return rows_of_postgresql() if "dbname" in DATABASE else rows_of_sqlite()


def rows_of_postgresql() -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    with psycopg.connect(DATABASE) as connection, connection.cursor("list") as cursor:
        cursor.itersize = CHUNK
        cursor.execute(STATEMENT)
        while rows := cursor.fetchmany(CHUNK):
            yield encode(
                [
                    Account(row[0], row[1], row[2], row[3], row[4] is not None, *row[5:])
                    for row in rows
                ]
            )


def rows_of_sqlite() -> Iterator[bytes]:
    encode, decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(list[str]).decode
    connection = sqlite3.connect(DATABASE)
    cursor = connection.execute(STATEMENT)
    while rows := cursor.fetchmany(CHUNK):
        yield encode(
            [
                Account(row[0], row[1], row[2], decode(row[3]), row[4] is not None, *row[5:])
                for row in rows
            ]
        )
    connection.close()
