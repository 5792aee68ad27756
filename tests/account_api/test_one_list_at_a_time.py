"""While a whole list is written for a service, a second one is 429; changes are never refused."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from tempfile import SpooledTemporaryFile
from typing import Any

import pytest
from flask import Flask

import databases
import hosting
from account_api.calling import Service, refusal, register

PATIENCE = 30  # seconds


class Slow:
    """Holds lists in the middle of being written until it is told to go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.began, self.may_go_on = threading.Event(), threading.Event()
        slow = self

        class SlowFile(SpooledTemporaryFile[bytes]):
            def write(self, data: Any) -> int:
                slow.began.set()
                assert slow.may_go_on.wait(PATIENCE)
                return super().write(data)

        monkeypatch.setattr("idsync.account_api.pull.SpooledTemporaryFile", SlowFile)

    @contextmanager
    def list(self, service: Service) -> Iterator[Future[Any]]:
        """A whole list half written, and finished at the end of the block."""
        with ThreadPoolExecutor(1) as thread:
            answer = thread.submit(service.list)
            assert self.began.wait(PATIENCE)
            try:
                yield answer
            finally:
                self.may_go_on.set()
            assert answer.result().status_code == 200


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    return Slow(monkeypatch)


@pytest.fixture
def another_process(database_url: str) -> Iterator[Callable[[Service], Service]]:
    """The same service in another host on the same database, as another process has it."""
    apps: list[Flask] = []

    def in_another(service: Service) -> Service:
        apps.append(hosting.make_host(database_url, **keys_of(service.app)))
        return Service(apps[-1], service.client)

    yield in_another
    for app in apps:
        hosting.close_host(app)


def keys_of(app: Flask) -> dict[str, Any]:
    names = ("SECRET_KEY", "IDSYNC_TOKEN_KEYS", "IDSYNC_SEALING_KEYS")
    return {name: app.config[name] for name in names}


def check_busy(service: Service) -> None:
    answer = service.list()
    said = refusal(answer, 429)
    assert said == "A whole list is being written for this application; wait for it."
    assert int(answer.headers["Retry-After"]) > 0


def test_a_second_whole_list_in_the_same_process_waits(service: Service, slow: Slow) -> None:
    """And only that: changes, 304, HEAD, the other calls and other services go on."""
    slow.may_go_on.set()
    service.created(id="ada", tags=["wiki"])
    other = register(service.app, "Mail")
    first = service.list()
    slow.may_go_on.clear()
    slow.began.clear()
    with slow.list(service):
        check_busy(service)
        assert service.list(etag=first.headers["ETag"]).status_code == 304
        assert service.call("HEAD", "/api/service/accounts").status_code == 200
        assert service.changed("ada", name="B")["name"] == "B"
        assert service.call("GET", "/api/services").status_code == 200
        with ThreadPoolExecutor(2) as threads:
            changes = threads.submit(service.changes, first.json["cursor"])
            others = threads.submit(other.whole)
            slow.may_go_on.set()
            assert changes.result()["accounts"][0]["name"] == "B"
            assert others.result()["accounts"][0]["name"] == "B"
    assert service.list().status_code == 200


@pytest.mark.parametrize("database_server", ["postgresql"], indirect=True)
def test_a_second_whole_list_in_another_process_waits(
    service: Service, slow: Slow, another_process: Callable[[Service], Service]
) -> None:
    """On PostgreSQL; with SQLite each process of a small site has its own count."""
    elsewhere = another_process(service)
    with slow.list(service):
        check_busy(elsewhere)
        check_busy(elsewhere)  # the refusal itself holds nothing
        check_busy(service)
    assert elsewhere.list().status_code == 200
    assert service.list().status_code == 200


@pytest.mark.parametrize("database_server", ["postgresql"], indirect=True)
def test_a_process_that_dies_holds_no_lock(
    service: Service,
    slow: Slow,
    another_process: Callable[[Service], Service],
    database_url: str,
) -> None:
    """The lock is its transaction's, which ends with its connection."""
    elsewhere = another_process(service)
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(service.list)
        assert slow.began.wait(PATIENCE)
        check_busy(elsewhere)
        databases.end_connections(database_url)
        slow.may_go_on.set()
        assert elsewhere.list().status_code == 200
        assert answer.result().status_code == 503
    assert service.list().status_code == 200
