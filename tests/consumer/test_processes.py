"""Several processes of one service share a copy: what one does, the others need not."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from subprocess import Popen

import pytest

from consumer_kit import (
    Asked,
    FalseService,
    a_list,
    an_account,
    answering,
    opened,
    started,
)
from idsync.consumer import AccountsApi, LocalCopy
from idsync.crypto.exchange import ExchangeHash

PROCESSES = 4
HASH = str(ExchangeHash.create("pass word", iterations=10_000))
GOOD = answering(200, a_list([an_account(password=HASH)]))


@pytest.fixture
def pulled(false: FalseService, copy_url: str) -> str:
    """The address of a copy that has been pulled; what that asked is forgotten."""
    false.answer = GOOD
    with opened(copy_url) as store:
        LocalCopy(AccountsApi(false.url, "a", "b"), store, service_tag="wiki").pull()
    false.asked.clear()
    return copy_url


@contextmanager
def processes(
    url: str, copy_url: str, interval: float, failures: int
) -> Iterator[list[Popen[str]]]:
    """Processes that wait to let sign-ins fail."""
    script = Path(__file__).with_name("failing.py")
    with ExitStack() as stack:
        yield [
            stack.enter_context(started(script, url, copy_url, str(interval), str(failures)))
            for _ in range(PROCESSES)
        ]


def fail_at_once(processes: list[Popen[str]]) -> list[dict[str, int]]:
    """What each process counted."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    return [json.loads(process.stdout.readline()) for process in processes if process.stdout]


def test_200_failures_at_once_cause_one_pull(false: FalseService, pulled: str) -> None:
    """The interval is that of all processes together."""
    with processes(false.url, pulled, 60, 200 // PROCESSES) as failing:
        begun = time.monotonic()
        assert fail_at_once(failing) == [{"wrong": 50}] * PROCESSES
        assert len(false.asked) == 1
        assert fail_at_once(failing) == [{"wrong": 50}] * PROCESSES
        assert len(false.asked) == 1
        assert time.monotonic() - begun < 60


def test_a_look_at_the_clock_just_before_anothers_causes_no_second_pull(copy_url: str) -> None:
    """Processes look at the clock first and at the copy then; a wrong clock stops nobody for long.

    The times are in seconds.
    """
    with opened(copy_url) as store:
        assert store.try_prompt(1000.0, 5)
        assert not store.try_prompt(999.99, 5)
        assert not store.try_prompt(1004.9, 5)
        assert store.try_prompt(1005.0, 5)
        assert store.try_prompt(1000.0, 5)


def test_no_two_pull_at_the_same_time(false: FalseService, pulled: str) -> None:
    """Where each failure may cause a pull, they come one after the other."""
    at_once, most, lock = 0, 0, threading.Lock()

    def slow(asked: Asked, handler: BaseHTTPRequestHandler) -> None:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        time.sleep(0.05)
        with lock:
            at_once -= 1
        GOOD(asked, handler)

    false.answer = slow
    with processes(false.url, pulled, 0, 4) as failing:
        assert fail_at_once(failing) == [{"wrong": 4}] * PROCESSES
    assert len(false.asked) > 1
    assert most == 1
