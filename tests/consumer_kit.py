"""A consuming service for tests: its copy, its identity service, and a false identity service.

Nothing here needs pytest.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import sqlalchemy as sa

import hosting
from host_app.models import db
from idsync.consumer import Account, AccountsApi, CopyStore, LocalCopy, open_store
from live import LiveHost

CHEAP = 10_000  # iterations


@dataclass(frozen=True)
class Consumer:
    """A service with a tag of its own, and its copy."""

    tag: str
    client: hosting.Client
    api: AccountsApi
    store: CopyStore
    copy: LocalCopy


@contextmanager
def consumer(
    host: LiveHost, tag: str, copy_url: str, *, url: str | None = None, **options: Any
) -> Iterator[Consumer]:
    """Register a service at the host and open its copy; options are those of LocalCopy.

    url: the identity service's address, where it is not the host's own.
    """
    client = hosting.register_application(host.app, tag, "--accounts", "--service-tag", tag)
    api = AccountsApi(url or host.url, *client.basic)
    with opened(copy_url) as store:
        given = {"service_tag": tag, "iterations": CHEAP, "prompt_interval": 0, **options}
        yield Consumer(tag, client, api, store, LocalCopy(api, store, **given))


@contextmanager
def opened(copy_url: str) -> Iterator[CopyStore]:
    """A copy's store, closed at the end."""
    store = open_store(copy_url)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def started(script: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has said "ready" and waits for lines of input; killed at the end."""
    with subprocess.Popen(
        [sys.executable, str(script), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def directory(service: Consumer, *, everyone: bool = False) -> dict[str, Account]:
    """What the identity service has, by id."""
    with service.api.accounts(None if everyone else service.tag) as answer:
        return {one.id: one for one in answer if isinstance(one, Account)}


def copied(store: CopyStore) -> dict[str, Account]:
    """What the copy has, by id, as of one moment: a commit of a killed process may still come."""
    table = store.people.table  # type: ignore[attr-defined]
    level = "SERIALIZABLE" if store.engine.dialect.name == "sqlite" else "REPEATABLE READ"
    with store.engine.connect().execution_options(isolation_level=level) as connection:
        ids = list(connection.scalars(sa.select(table.c.id)))
        found = [store.people.by_id(connection, id) for id in ids]
    return {one.id: one for one in found if one is not None}


def change_row(host: LiveHost, person_id: str, **values: Any) -> None:
    """Change a companion row at the host as its own code would."""
    with host.app.app_context():
        record = db.session.scalars(
            sa.select(host_record()).where(host_record().subject == person_id)
        ).one()
        for name, value in values.items():
            setattr(record, name, value)
        db.session.commit()


def host_record() -> Any:
    """The host's mapped companion class."""
    return next(
        mapper.class_
        for mapper in db.Model.registry.mappers
        if getattr(mapper.local_table, "name", None) == "idsync_account"
    )


def an_account(number: int = 1, **values: Any) -> dict[str, Any]:
    """An account as it travels."""
    return {
        "id": f"id-{number}",
        "name": f"Person {number}",
        "email": f"person{number}@example.org",
        "tags": ["wiki"],
        "roles": [],
        "disabled": False,
        "mfa": False,
        "password": None,
        "updated_at": "2026-01-02T03:04:05",
        **values,
    }


def a_list(accounts: Sequence[Any] = (), cursor: str = "c1", **values: Any) -> bytes:
    """A whole list as it travels."""
    answer = {"accounts": list(accounts), "cursor": cursor, "complete": True, **values}
    return json.dumps(answer).encode()


@dataclass(frozen=True)
class Asked:
    """A request that the false identity service got."""

    method: str
    path: str
    query: dict[str, list[str]]
    body: bytes
    authorization: str | None


Answer = Callable[[Asked, BaseHTTPRequestHandler], None]


class FalseService:
    """An identity service that answers as `answer` says, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.answer: Answer = answering(200, a_list())
        self.url = ""

    def then(self, *answers: Answer) -> None:
        """Give one answer after the other, the last one for ever."""
        left = list(answers)

        def answer(asked: Asked, handler: BaseHTTPRequestHandler) -> None:
            (left.pop(0) if len(left) > 1 else left[0])(asked, handler)

        self.answer = answer


def answering(
    status: int, body: bytes = b"{}", length: int | None = None, **headers: str
) -> Answer:
    """An answer; `length` is what it claims to be long."""

    def answer(asked: Asked, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@contextmanager
def false_service() -> Iterator[FalseService]:
    """Run a false identity service."""
    service = FalseService()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = urlsplit(self.path)
            asked = Asked(
                self.command,
                address.path,
                parse_qs(address.query),
                self.rfile.read(int(self.headers.get("Content-Length") or 0)),
                self.headers.get("Authorization"),
            )
            service.asked.append(asked)
            with suppress(OSError):  # the caller has gone
                service.answer(asked, self)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        service.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()
