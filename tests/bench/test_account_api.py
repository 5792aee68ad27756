"""The account API over HTTP with many accounts, beside the least such a list can cost.

Measured with the numbers of accounts in IDSYNC_BENCH_ACCOUNTS; 100,000 and a million where it is
not set. Time is what the caller sees, CPU what the serving processes use, without PostgreSQL: it
tells more where the machine has other things to do.
"""

import os
import secrets
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
import requests
from flask import Flask
from sqlalchemy import make_url

import hosting
from account_api.many import BATCH, fill
from bench.load import children_of, cpu_of
from host_app.models import db
from idsync.account_api.cursor import Cursor, shape_of
from live import LiveHost, live_database, live_host

NUMBERS = [int(one) for one in os.environ.get("IDSYNC_BENCH_ACCOUNTS", "100000 1000000").split()]
GROWTH_LIMIT = 64  # MiB that a worker may grow by while it writes a list of a million
LISTS = 3  # whole lists measured; the fastest counts
SHORT = 30  # short requests measured; their median counts
CHANGED = 10
WHOLE, FLOOR, UNSEALING = "whole list", "floor of the list", "unsealing"
URL = "/api/service/accounts"
TESTS = Path(__file__).parents[1]


@pytest.fixture(params=NUMBERS, ids=lambda number: f"{number:,}")
def accounts(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def host(database_server: str | None, tmp_path: Path, accounts: int) -> Iterator[LiveHost]:
    with (
        live_database(database_server, tmp_path) as url,
        live_host(url, tmp_path, IDSYNC_PBKDF2_ITERATIONS=600_000) as host,
    ):
        fill(host.app, accounts, show_progress=True)
        yield host


# --- measuring ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """Of one request: time and mean CPU in seconds, bytes of the answer."""

    seconds: float
    cpu: float
    size: int = 0


def measured(
    times: int, pids: list[int], work: Callable[[], int], typical: Callable[[list[float]], float]
) -> Measured:
    """Do the work so often; `pids` are the processes whose CPU counts."""
    seconds, before = [], cpu_of(pids)
    for _ in range(times):
        begun = time.perf_counter()
        size = work()
        seconds.append(time.perf_counter() - begun)
    return Measured(typical(seconds), (cpu_of(pids) - before) / times, size)


def drain(session: requests.Session, url: str, **options: Any) -> int:
    """Read an answer to its end without keeping it, and give its length."""
    with session.get(url, stream=True, timeout=1200, **options) as answer:
        answer.raise_for_status()
        return sum(len(chunk) for chunk in answer.iter_content(1 << 20))


def resident(pid: int, name: str) -> float:
    """MiB of a process: VmRSS is now, VmHWM the most since `forget_peak`."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"{pid} has no {name}")


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


@contextmanager
def bare_list(host: LiveHost, folder: Path) -> Iterator[tuple[str, int]]:
    """The floor, served on a port of its own; its address and gunicorn's process id."""
    url = make_url(host.app.config["SQLALCHEMY_DATABASE_URI"])
    database = str(url.database)
    if url.get_backend_name() != "sqlite":
        database = psycopg.conninfo.make_conninfo(
            host=url.host, port=url.port, user=url.username, password=url.password, dbname=database
        )
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        (folder / "bare.log").open("wb") as log,
    ):
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "gunicorn", "--worker-class", "gthread"),
                *("--bind", f"fd://{listening.fileno()}", "bench.bare_list:application"),
            ],
            cwd=TESTS,
            env={**os.environ, "IDSYNC_BENCH_DATABASE": database},
            pass_fds=[listening.fileno()],
            stdout=log,
            stderr=log,
        )
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/", process.pid
        finally:
            process.terminate()
            process.wait(30)


def unsealing(app: Flask) -> Measured:
    """Opening every password, without reading them."""
    seconds = cpu = 0.0
    with app.app_context():
        parts = app.extensions["idsync"]
        table = parts.models.table
        rows = db.session.connection().execute(
            db.select(table.c.subject, table.c.password), execution_options={"yield_per": BATCH}
        )
        for batch in rows.partitions():
            begun, used = time.perf_counter(), time.process_time()
            for subject, blob in batch:
                parts.passwords.open(subject, blob)
            seconds += time.perf_counter() - begun
            cpu += time.process_time() - used
        db.session.rollback()
    return Measured(seconds, cpu)


# --- the measurements -----------------------------------------------------------------------------


@pytest.mark.bench
def test_the_account_api_with_many_accounts(host: LiveHost, accounts: int, tmp_path: Path) -> None:
    """A worker grows by less than 64 MiB; the figures are printed."""
    service = hosting.register_application(host.app, "Wiki", "--accounts", "--service-tag", "wiki")
    url, workers = host.url + URL, children_of(host.pid)
    rows: dict[str, Measured] = {}

    def measure(label: str, work: Callable[[], int]) -> None:
        rows[label] = measured(SHORT, workers, work, statistics.median)

    with requests.Session() as session:
        session.auth = service.basic
        held = cursor_of(session, url)
        etag, since = {"If-None-Match": f'"{held}"'}, {"since": held}
        for _ in range(SHORT):  # warm, both workers
            drain(session, url, params=since)
        before = {pid: resident(pid, "VmRSS") for pid in workers}
        for pid in workers:
            forget_peak(pid)
        rows[WHOLE] = measured(LISTS, workers, lambda: drain(session, url), min)
        growth = max(resident(pid, "VmHWM") - before[pid] for pid in workers)
        with bare_list(host, tmp_path) as (floor, pid):
            drain(session, floor)  # warm
            rows[FLOOR] = measured(LISTS, children_of(pid), lambda: drain(session, floor), min)
        rows[UNSEALING] = unsealing(host.app)
        measure("nothing changed (304)", lambda: drain(session, url, headers=etag))
        created: list[str] = []
        measure("create", lambda: create(session, url, created))
        measure("change", lambda: change(session, url, created[0]))
        for id in created[:CHANGED]:
            change(session, url, id)
        since = {"since": cursor_before(host.app, CHANGED)}
        measure(f"{CHANGED} changes (since)", lambda: drain(session, url, params=since))
    show(host.app, accounts, rows, growth)
    assert growth < GROWTH_LIMIT


def cursor_of(session: requests.Session, url: str) -> str:
    """Where the directory is, from the headers alone."""
    return session.head(url, timeout=60).headers["ETag"].strip('"')


def cursor_before(app: Flask, revisions: int) -> str:
    """The cursor of a reader who lacks the last so many changes."""
    with app.app_context():
        parts = app.extensions["idsync"]
        incarnation, revision = parts.revisions.current(db.session)
        db.session.rollback()
    shape = shape_of(None, parts.settings.role_map, hashes=True)
    return str(Cursor(incarnation, revision - revisions, shape))


def create(session: requests.Session, url: str, created: list[str]) -> int:
    answer = session.post(
        url,
        json={
            "name": "New",
            "email": f"new{len(created)}@example.org",
            "tags": ["wiki"],
            "password": f"pbkdf2$600000$salt${secrets.token_hex(32)}",
        },
        timeout=60,
    )
    assert answer.status_code == 201
    created.append(answer.json()["id"])
    return len(answer.content)


def change(session: requests.Session, url: str, id: str) -> int:
    name = f"Name {time.perf_counter_ns()}"
    answer = session.post(f"{url}/{id}", json={"name": name}, timeout=60)
    assert answer.status_code == 200
    return len(answer.content)


def show(app: Flask, accounts: int, rows: dict[str, Measured], growth: float) -> None:
    with app.app_context():
        print(f"\n\n{db.engine.name}, {accounts:,} accounts")
    for label, one in rows.items():
        size = f"{one.size:>14,} bytes" if one.size else ""
        print(f"  {label:<24}{one.seconds * 1000:>12,.1f} ms{one.cpu * 1000:>12,.1f} ms CPU{size}")
    whole, floor, opened = rows[WHOLE], rows[FLOOR], rows[UNSEALING]
    print(
        f"  without unsealing, a list takes {(whole.seconds - opened.seconds) / floor.seconds:.2f}"
        f" floors, in CPU {(whole.cpu - opened.cpu) / floor.cpu:.2f}"
    )
    print(f"  a worker grows by {growth:.1f} MiB while it writes the list")
