"""The account API over HTTP with many accounts, beside the least such a list can cost.

IDSYNC_BENCH_ACCOUNTS says how many; 100,000 where it is not set.
"""

import os
import secrets
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
from host_app.models import db
from idsync.account_api.cursor import Cursor, shape_of
from live import LiveHost, live_database, live_host

ACCOUNTS = int(os.environ.get("IDSYNC_BENCH_ACCOUNTS", "100000"))
GROWTH_LIMIT = 64  # MiB that a worker may grow by while it writes a list of a million
LISTS = 3  # whole lists measured; the fastest counts, the machine may have other things to do
SHORT = 30  # short requests measured; their median counts
CHANGED = 10
URL = "/api/service/accounts"
TESTS = Path(__file__).parents[1]


@pytest.fixture
def host(database_server: str | None, tmp_path: Path) -> Iterator[LiveHost]:
    with (
        live_database(database_server, tmp_path) as url,
        live_host(url, tmp_path, IDSYNC_PBKDF2_ITERATIONS=600_000) as host,
    ):
        fill(host.app, ACCOUNTS, show_progress=True)
        yield host


# --- measuring ------------------------------------------------------------------------------------


@dataclass
class Measured:
    """seconds; size: bytes of the answer."""

    seconds: float
    size: int = 0


def fastest(times: int, work: Callable[[], int]) -> Measured:
    return min((timed(work) for _ in range(times)), key=lambda one: one.seconds)


def median(times: int, work: Callable[[], int]) -> Measured:
    runs = [timed(work) for _ in range(times)]
    return Measured(statistics.median(one.seconds for one in runs), runs[-1].size)


def timed(work: Callable[[], int]) -> Measured:
    begun = time.perf_counter()
    size = work()
    return Measured(time.perf_counter() - begun, size)


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


def workers_of(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextmanager
def bare_list(host: LiveHost, folder: Path) -> Iterator[str]:
    """The floor, served on a port of its own; its address."""
    url = make_url(host.app.config["SQLALCHEMY_DATABASE_URI"])
    database = str(url.database)
    if url.get_backend_name() != "sqlite":
        database = psycopg.conninfo.make_conninfo(
            host=url.host, port=url.port, user=url.username, password=url.password, dbname=database
        )
    address = f"127.0.0.1:{8700 + secrets.randbelow(1000)}"
    log = (folder / "bare.log").open("wb")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "gunicorn", "--worker-class", "gthread"),
            *("--bind", address, "bench.bare_list:application"),
        ],
        cwd=TESTS,
        env={**os.environ, "IDSYNC_BENCH_DATABASE": database},
        stdout=log,
        stderr=log,
    )
    try:
        await_port(address)
        yield f"http://{address}/"
    finally:
        process.terminate()
        process.wait(30)
        log.close()


def await_port(address: str) -> None:
    for _ in range(100):
        try:
            requests.head(f"http://{address}/", timeout=30).close()
            return
        except requests.ConnectionError:
            time.sleep(0.1)
    raise AssertionError("The floor does not start.")


def unsealing(app: Flask) -> float:
    """Seconds that opening every password takes, without reading them."""
    with app.app_context():
        parts, spent = app.extensions["idsync"], 0.0
        table = parts.models.table
        rows = db.session.connection().execute(
            db.select(table.c.subject, table.c.password), execution_options={"yield_per": BATCH}
        )
        for batch in rows.partitions():
            begun = time.perf_counter()
            for subject, blob in batch:
                parts.passwords.open(subject, blob)
            spent += time.perf_counter() - begun
        db.session.rollback()
    return spent


# --- the measurements -----------------------------------------------------------------------------


@pytest.mark.bench
def test_the_account_api_with_many_accounts(host: LiveHost, tmp_path: Path) -> None:
    """A worker grows by less than 64 MiB; the figures are printed."""
    service = hosting.register_application(host.app, "Wiki", "--accounts", "--service-tag", "wiki")
    with requests.Session() as session:
        session.auth = service.basic
        url, rows = host.url + URL, {}
        held = cursor_of(session, url)
        etag, since = {"If-None-Match": f'"{held}"'}, {"since": held}
        for _ in range(SHORT):  # warm, both workers
            drain(session, url, params=since)
        workers = workers_of(host.pid)
        before = {pid: resident(pid, "VmRSS") for pid in workers}
        for pid in workers:
            forget_peak(pid)
        rows["whole list"] = fastest(LISTS, lambda: drain(session, url))
        growth = max(resident(pid, "VmHWM") - before[pid] for pid in workers)
        with bare_list(host, tmp_path) as floor:
            rows["floor of the list"] = fastest(LISTS, lambda: drain(requests.Session(), floor))
        rows["unsealing"] = Measured(unsealing(host.app))
        rows["nothing changed (304)"] = median(
            SHORT, lambda: drain(session, url, headers=etag, params=since)
        )
        created: list[str] = []
        rows["create"] = median(SHORT, lambda: create(session, url, created))
        rows["change"] = median(SHORT, lambda: change(session, url, created))
        for number in range(CHANGED):
            session.post(f"{url}/{created[number]}", json={"name": f"New {number}"}, timeout=60)
        held = cursor_before(host.app, CHANGED)
        rows[f"{CHANGED} changes (since)"] = median(
            SHORT, lambda: drain(session, url, params={"since": held})
        )
    show(host.app, rows, growth)
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


def change(session: requests.Session, url: str, created: list[str]) -> int:
    answer = session.post(
        f"{url}/{created[0]}", json={"name": f"Name {time.perf_counter_ns()}"}, timeout=60
    )
    assert answer.status_code == 200
    return len(answer.content)


def show(app: Flask, rows: dict[str, Measured], growth: float) -> None:
    with app.app_context():
        name = db.engine.name
    print(f"\n\n{name}, {ACCOUNTS:,} accounts")
    for label, one in rows.items():
        size = f"{one.size:>14,} bytes" if one.size else ""
        print(f"  {label:<24}{one.seconds * 1000:>12,.1f} ms{size}")
    own = rows["whole list"].seconds - rows["unsealing"].seconds
    print(
        f"  without unsealing, the list takes {own / rows['floor of the list'].seconds:.2f} floors"
    )
    print(f"  a worker grows by {growth:.1f} MiB while it writes the list")
