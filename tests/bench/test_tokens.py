"""What tokens cost under gunicorn, beside the floor: a bare WSGI application on the same database.

Two workers, four callers with a kept connection each. CPU counts service and database apart; the
callers' own is left out, though they share the machine. Password hashes are as dear as they are by
default. IDSYNC_BENCH_REQUESTS says how many requests each line is measured with.
"""

import base64
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest
import requests
from sqlalchemy import event, make_url

import hosting
from bench.load import Cost, Script, children_of, floor_under, measure
from host_app.models import db
from idsync.oauth.grant import AccessToken, NewGrant, RefreshToken
from idsync.oauth.id_token import sign_id_token
from live import LiveHost, live_database, live_host

REQUESTS = int(os.environ.get("IDSYNC_BENCH_REQUESTS", "4000"))
SIGN_INS = max(REQUESTS // 50, 8)
CALLERS = 4
WARM_UP = 50  # requests of each caller; psycopg prepares a statement at its fifth
DEAR_HASHES = {
    "IDSYNC_PBKDF2_ITERATIONS": 600_000,
    "IDSYNC_ARGON2_TIME_COST": 3,
    "IDSYNC_ARGON2_MEMORY_KIB": 65_536,
    "IDSYNC_ARGON2_PARALLELISM": 4,
}
CODE_LASTS = 50  # seconds in which codes made ahead have to be exchanged
PATIENCE = 30  # seconds


# --- requests -------------------------------------------------------------------------------------


def request(method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


def post_form(path: str, form: dict[str, str], **headers: str) -> bytes:
    content_type = "application/x-www-form-urlencoded"
    return request("POST", path, urlencode(form).encode(), Content_Type=content_type, **headers)


def one_after_another(asks: list[bytes]) -> Script:
    """Whatever is answered."""
    for ask in asks:  # noqa: UP028 (a list cannot be sent the answers)
        yield ask


def refreshing(client: hosting.Client, token: str, times: int) -> Script:
    """Each request presents what the answer before it gave."""
    for _ in range(times):
        form = {"grant_type": "refresh_token", "refresh_token": token}
        body = yield post_form("/oauth/token", form, Authorization=basic(client))
        found = re.search(rb'"refresh_token": ?"([^"]+)"', body)
        assert found is not None
        token = found[1].decode()


def basic(client: hosting.Client) -> str:
    return "Basic " + base64.b64encode(":".join(client.basic).encode()).decode()


class Bench:
    """A running host, its floor, and what the requests refer to."""

    def __init__(self, host: LiveHost, floor: tuple[int, int], backends: Callable[[], list[int]]):
        self.app = host.app
        self.host_port = int(host.url.rpartition(":")[2])
        self.floor_port, floor_master = floor
        self._host_workers, self._floor_workers = children_of(host.pid), children_of(floor_master)
        self._backends = backends
        self.person = hosting.add_person(host.app)
        self.clients = {
            algorithm: hosting.register_application(
                host.app, algorithm, "--first-party", "--id-token-alg", algorithm
            )
            for algorithm in ("RS256", "ES256")
        }
        self.parts = host.app.extensions["idsync"]
        self.lines: list[tuple[str, int, Cost]] = []

    def grants(
        self, number: int, algorithm: str = "RS256", *, redeemed: bool = True
    ) -> list[bytes]:
        """Ids of new grants, made without HTTP."""
        store = self.parts.server.store
        with self.app.app_context():
            account = self.parts.directory.find(self.person.id)
            new = NewGrant(
                client_id=self.clients[algorithm].client_id,
                account=account,
                session_id=bytes(16),
                epoch=account.epoch,
                scopes=("openid", "profile", "email", "offline_access"),
                redirect_uri=hosting.REDIRECT_URI,
                code_challenge=None,
                nonce=None,
                auth_time=int(time.time()),
                amr=("pwd",),
            )
            ids = [store.issue(new) for _ in range(number)]
            for grant_id in ids if redeemed else ():
                store.redeem(store.find(grant_id))
        return ids

    def access_tokens(self, grant_ids: list[bytes]) -> list[str]:
        expires = int(time.time()) + 3600
        make = self.parts.server.references.access_token
        return [make(AccessToken(grant_id, expires, None)) for grant_id in grant_ids]

    def refresh_tokens(self, grant_ids: list[bytes]) -> list[str]:
        make = self.parts.server.references.refresh_token
        return [make(RefreshToken(grant_id, 0)) for grant_id in grant_ids]

    def codes(self, number: int) -> list[str]:
        ids = self.grants(number, redeemed=False)
        return [self.parts.server.references.code(grant_id) for grant_id in ids]

    # --- measuring -----------------------------------------------------------------------------

    def host(
        self, name: str, scripts: Callable[[int], list[Script]], number: int, status: int = 200
    ) -> Cost:
        """Warm up, count the statements of one request, then measure."""
        port, workers = self.host_port, self._host_workers
        measure(port, scripts(min(WARM_UP, number)), workers, [], status)
        statements = self._statements(next(scripts(1)[0]))
        cost = measure(port, scripts(number // CALLERS), workers, self._backends(), status)
        self.lines.append((name, statements, cost))
        return cost

    def floor(self, name: str, path: str) -> Cost:
        (grant_id,) = self.grants(1)
        ask = request("GET", f"/{path}?{grant_id.hex()}")

        def scripts(number: int) -> list[Script]:
            return [one_after_another([ask] * number) for _ in range(CALLERS)]

        measure(self.floor_port, scripts(WARM_UP), self._floor_workers, [])
        cost = measure(
            self.floor_port, scripts(REQUESTS // CALLERS), self._floor_workers, self._backends()
        )
        self.lines.append((name, 1, cost))
        return cost

    def _statements(self, raw: bytes) -> int:
        """Of the same request to the same host in this process."""
        head, _, body = raw.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        method, path, _ = first.split(" ")
        headers = [tuple(line.split(": ", 1)) for line in lines]
        seen: list[str] = []

        def see(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
            seen.append(statement)

        client = self.app.test_client(use_cookies=False)
        client.get("/oauth/jwks")  # what only a first request asks for
        with self.app.app_context():
            engine = db.engine
        event.listen(engine, "before_cursor_execute", see)
        try:
            answer = client.open(path, method=method, data=body, headers=headers)
            assert answer.status_code < 400, answer.text
        finally:
            event.remove(engine, "before_cursor_execute", see)
        return len(seen)

    def signature(self, algorithm: str) -> float:
        """Seconds of CPU to sign an id_token."""
        with self.app.app_context():
            key = self.parts.signing_keys.current(algorithm)
        claims = {"iss": hosting.ISSUER, "sub": self.person.id, "name": self.person.name}
        sign_id_token(claims, key)
        begun = time.process_time()
        for _ in range(300):
            sign_id_token(claims, key)
        return (time.process_time() - begun) / 300


def split(items: list[bytes]) -> list[Script]:
    """A share for each caller."""
    return [one_after_another(items[caller::CALLERS]) for caller in range(CALLERS)]


# --- what is measured -----------------------------------------------------------------------------


def userinfo(bench: Bench) -> Cost:
    tokens = bench.access_tokens(bench.grants(CALLERS))
    asks = [request("GET", "/oauth/userinfo", Authorization=f"Bearer {one}") for one in tokens]
    return bench.host(
        "userinfo",
        lambda number: [one_after_another([ask] * number) for ask in asks],
        REQUESTS,
    )


def refresh(bench: Bench, algorithm: str) -> Cost:
    client = bench.clients[algorithm]

    def scripts(number: int) -> list[Script]:
        tokens = bench.refresh_tokens(bench.grants(CALLERS, algorithm))
        return [refreshing(client, token, number) for token in tokens]

    return bench.host(f"refresh {algorithm}", scripts, REQUESTS)


def exchange(bench: Bench) -> Cost:
    client = bench.clients["RS256"]

    def scripts(number: int) -> list[Script]:
        begun = time.monotonic()
        forms = [
            {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": hosting.REDIRECT_URI,
            }
            for code in bench.codes(number * CALLERS)
        ]
        assert time.monotonic() - begun < CODE_LASTS / 2, "choose fewer requests"
        return split(
            [post_form("/oauth/token", form, Authorization=basic(client)) for form in forms]
        )

    return bench.host("code exchange RS256", scripts, REQUESTS)


def revoke(bench: Bench) -> Cost:
    def scripts(number: int) -> list[Script]:
        tokens = bench.refresh_tokens(bench.grants(number * CALLERS))
        return split([post_form("/oauth/revoke", {"token": token}) for token in tokens])

    return bench.host("revoke", scripts, REQUESTS)


def sign_in(bench: Bench) -> Cost:
    """The sign-in form, sent again and again by a browser that was given it once."""
    address = f"http://localhost:{bench.host_port}/sign-in"
    with requests.Session() as browser:
        page = browser.get(address, timeout=PATIENCE)
        cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    form = {
        **hosting.hidden_fields(page.text),
        "email": bench.person.email,
        "password": bench.person.password,
    }
    ask = post_form("/sign-in", form, Cookie=cookie, Referer=address)
    return bench.host(
        "password sign-in",
        lambda number: [one_after_another([ask] * number) for _ in range(CALLERS)],
        SIGN_INS,
        303,
    )


# --- the table ------------------------------------------------------------------------------------


def table(bench: Bench) -> str:
    rows = [
        f"{'':22}{'stmts':>6}{'req/s':>8}{'p50 ms':>8}{'p99 ms':>8}"
        f"{'service ms':>12}{'database ms':>12}{'CPU ms':>8}{'MB':>6}"
    ]
    for name, statements, cost in bench.lines:
        database = "-" if cost.database is None else f"{cost.database * 1000:.2f}"
        rows.append(
            f"{name:22}{statements:6}{cost.per_second:8.0f}{cost.p50 * 1000:8.1f}"
            f"{cost.p99 * 1000:8.1f}{cost.service * 1000:12.2f}{database:>12}"
            f"{cost.cpu * 1000:8.2f}{cost.memory / 2**20:6.0f}"
        )
    return "\n".join(rows)


@pytest.fixture
def bench(database_server: str | None, tmp_path: Path) -> Iterator[Bench]:
    with (
        live_database(database_server, tmp_path) as url,
        live_host(url, tmp_path, **DEAR_HASHES) as host,
        floor_under(url, tmp_path) as floor,
    ):
        yield Bench(host, floor, backends_of(url))


def backends_of(database_url: str) -> Callable[[], list[int]]:
    """The server processes at work for a PostgreSQL database; none for SQLite."""
    url = make_url(database_url)
    if url.get_backend_name() == "sqlite":
        return list

    def pids() -> list[int]:
        with psycopg.connect(
            url.set(drivername="postgresql").render_as_string(hide_password=False)
        ) as connection:
            rows = connection.execute(
                "SELECT pid FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            return [pid for (pid,) in rows if Path(f"/proc/{pid}").exists()]

    return pids


@pytest.mark.bench
def test_what_tokens_cost(bench: Bench, database_server: str | None) -> None:
    """A table of all endpoints, and their distance to the floor. Nothing timed is asserted."""
    least_read = bench.floor("floor: SELECT", "select")
    least_write = bench.floor("floor: UPDATE", "update")
    read = userinfo(bench)
    writes = {algorithm: refresh(bench, algorithm) for algorithm in bench.clients}
    exchange(bench)
    revoke(bench)
    sign_in(bench)
    print(f"\n\n{'SQLite' if database_server is None else 'PostgreSQL'}\n{table(bench)}\n")
    print(f"userinfo: {read.cpu / least_read.cpu:.2f} times the floor (aim: 2)")
    for algorithm, cost in writes.items():
        signature = bench.signature(algorithm)
        unsigned = (cost.cpu - signature) / least_write.cpu
        print(
            f"refresh {algorithm}: {unsigned:.2f} times the floor (aim: 2)"
            f" and one signature ({signature * 1000:.2f} ms)"
        )
