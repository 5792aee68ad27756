"""Processes that race one another for a grant, on the reference host and a real database."""

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from multiprocessing.synchronize import Barrier
from typing import Any

import pytest

import hosting
from host_app import create_app
from races.crew import Crew, crew_of

spawn = multiprocessing.get_context("spawn")
LONGEST = 120
"""Seconds until a racer that hangs fails the test."""


def racer(settings: dict[str, Any], start: Barrier, tasks: Any, results: Any) -> None:
    """Wait for each task, start at the same moment as the others, report the answer's status."""
    app = create_app(settings)
    client = app.test_client()
    client.get("/.well-known/openid-configuration")  # warm: imports, first connection
    while (task := tasks.get()) is not None:
        path, form, auth = task
        start.wait(LONGEST)
        response = client.post(path, data=form, auth=auth)
        results.put((response.status_code, response.json))
    hosting.close_host(app)


class Race:
    """A number of processes that present the same thing at the same time."""

    def __init__(self, settings: dict[str, Any], racers: int) -> None:
        self._start = spawn.Barrier(racers)
        self._tasks = [spawn.Queue() for _ in range(racers)]
        self._results = spawn.Queue()
        self._processes = [
            spawn.Process(target=racer, args=(settings, self._start, queue, self._results))
            for queue in self._tasks
        ]
        for process in self._processes:
            process.start()

    def run(self, *tasks: tuple[str, dict[str, str], tuple[str, str]]) -> list[tuple[int, Any]]:
        """Give each process its task (the one task to all) and return all answers."""
        for index, queue in enumerate(self._tasks):
            queue.put(tasks[index % len(tasks)])
        return [self._results.get(timeout=LONGEST) for _ in self._tasks]

    def stop(self) -> None:
        """End the processes."""
        for queue in self._tasks:
            queue.put(None)
        for process in self._processes:
            process.join(LONGEST)
            process.close()
        for queue in (*self._tasks, self._results):
            queue.close()
            queue.join_thread()


@pytest.fixture
def settings(database_url: str) -> dict[str, Any]:
    """One configuration for every process of the host."""
    return hosting.configuration(database_url)


@pytest.fixture
def race(settings: dict[str, Any], host: Any) -> Iterator[Any]:
    """Makes races; ends their processes."""
    races: list[Race] = []

    def make(racers: int) -> Race:
        races.append(Race(settings, racers))
        return races[-1]

    yield make
    for one in races:
        one.stop()


@pytest.fixture
def host(settings: dict[str, Any]) -> Iterator[Any]:
    """The host in this process, its tables made."""
    app = create_app(settings)
    with app.app_context():
        hosting.db.create_all()
    yield app
    hosting.close_host(app)


@pytest.fixture
def crew(settings: dict[str, Any], host: Any) -> Iterator[Callable[[int], Crew]]:
    """Makes crews; ends their processes."""
    with ExitStack() as crews:
        yield lambda members: crews.enter_context(crew_of(members, settings))
