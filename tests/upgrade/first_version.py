"""A database as the first version left it: its tables, and data of every kind in them.

The data are made by a host of today at its own pages, so that secrets, hashes and signed references
are real; then the columns that the first version knew are copied into its tables.
"""

import html
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import flask_migrate
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import column, create_engine, insert, inspect, select, table, text
from sqlalchemy.pool import NullPool

import databases
import hosting
from account_api import calling
from authenticator import SecurityKey
from host_app.models import db

FIRST = "0001"
PHONE = "+491701234567"
TAG = "wiki"


@dataclass(frozen=True)
class Left:
    """What people and applications have in hand when the upgrade comes."""

    settings: dict[str, Any]
    ada: hosting.Person
    grace: hosting.Person
    erased: str
    app: hosting.App
    key: SecurityKey
    application: hosting.Client
    service: hosting.Client
    code: str
    tokens: dict[str, Any]
    cookies: list[Any]
    cursor: str
    rows: dict[str, int]


def tokens_for(host: Flask, client: hosting.Client, code: str) -> dict[str, Any]:
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": client.redirect_uri}
    answer = host.test_client().post("/oauth/token", data=form, auth=client.basic)
    assert answer.status_code == 200, answer.text
    return dict(answer.json)


def code_for(browser: FlaskClient, client: hosting.Client, person: hosting.Person) -> str:
    location = hosting.authorize(browser, client, person).headers["Location"]
    return parse_qs(urlsplit(location).query)["code"][0]


def options_on(browser: FlaskClient, path: str) -> str:
    """What a page asks of a passkey."""
    found = re.search(r'data-options="([^"]*)"', browser.get(path).text)
    assert found, path
    return html.unescape(found[1])


def enrol(browser: FlaskClient, key: SecurityKey) -> None:
    path = "/security/passkeys/new"
    answer = key.create(options_on(browser, path))
    assert hosting.submit(browser, path, {"answer": answer, "label": "Key"}).status_code == 303


@contextmanager
def left_behind(database_url: str, folder: Path) -> Iterator[Left]:
    """A database at revision 0001 with data in it."""
    elsewhere = folder / "made"
    elsewhere.mkdir()
    settings = hosting.configuration(databases.sqlite_url(elsewhere))
    with hosting.host(settings) as host:
        with host.app_context():
            flask_migrate.upgrade()
        left = live(host, {**settings, "SQLALCHEMY_DATABASE_URI": database_url})
        with hosting.host(left.settings) as old:
            with old.app_context():
                flask_migrate.upgrade(revision=FIRST)
            copy(host, database_url, left.rows)
    yield left


def live(host: Flask, settings: dict[str, Any]) -> Left:
    """Years of use, in short."""
    ada = hosting.add_person(host, "Ada Lovelace", "ada@example.org", "correct horse", "--tag", TAG)
    grace = hosting.add_person(host, "Grace Hopper", "grace@example.org", "battery staple")
    gone = hosting.add_person(host, "Gone", "gone@example.org", "nobody knows")
    hosting.run(host, "idsync", "account", "edit", grace.id, "--phone", PHONE)
    application = hosting.register_application(host, "Demo")
    service = hosting.register_application(
        host, "Wiki", "--first-party", "--accounts", "--service-tag", TAG
    )
    lists = calling.Service(host, service)
    lists.whole()
    cursor = lists.whole()["cursor"]
    lists.changes(cursor)
    hosting.run(host, "idsync", "account", "erase", gone.id, "--yes")

    hers, his = host.test_client(), host.test_client()
    tokens = tokens_for(host, application, code_for(hers, application, ada))
    code = code_for(hers, application, ada)
    hosting.sign_in(his, grace)
    app = hosting.set_up_app(his)
    key = SecurityKey(hosting.ISSUER)
    enrol(his, key)
    hosting.sign_in(host.test_client(), ada, password="a wrong one")
    hosting.submit(host.test_client(), "/sign-in/phone", {"phone": PHONE})
    hosting.run(host, "idsync", "keys", "rotate")
    cookies = [hers.get_cookie("identity_session"), hers.get_cookie("idsync_device")]
    return Left(
        settings, ada, grace, gone.id, app, key, application, service, code, tokens, cookies,
        cursor, {},
    )  # fmt: skip


def copy(host: Flask, database_url: str, counted: dict[str, int]) -> None:
    """Copy every row, with the columns that the tables of `database_url` have.

    counted: takes the number of rows of each table.
    """
    engine = create_engine(database_url, poolclass=NullPool)
    known = inspect(engine)
    with host.app_context(), engine.begin() as target:
        for own in db.metadata.sorted_tables:
            if not known.has_table(own.name):
                continue
            names = {one["name"] for one in known.get_columns(own.name)}
            columns = [one for one in own.columns if one.name in names]
            rows = [dict(row) for row in db.session.execute(select(*columns)).mappings()]
            counted[own.name] = len(rows)
            if rows:
                older = table(own.name, *(column(one.name, one.type) for one in columns))
                target.execute(insert(older), rows)
        if target.dialect.name == "postgresql":
            for name in ("person", "idsync_event"):
                target.execute(
                    text(
                        f"SELECT setval(pg_get_serial_sequence('{name}', 'id'),"  # noqa: S608
                        f" (SELECT max(id) FROM {name}))"
                    )
                )
    engine.dispose()


def browser_with(host: Flask, cookies: list[Any]) -> FlaskClient:
    """The browser from before the upgrade."""
    browser = host.test_client()
    for cookie in cookies:
        browser.set_cookie(cookie.key, cookie.value)
    return browser


def counted_now(host: Flask) -> dict[str, int]:
    """The number of rows of each table."""
    with host.app_context():
        return {
            one: db.session.execute(text(f"SELECT count(*) FROM {one}")).scalar_one()  # noqa: S608
            for one in inspect(db.engine).get_table_names()
        }


def other_name() -> str:
    return f"New name {secrets.token_hex(4)}"
