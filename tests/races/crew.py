"""Processes that do things at the same moment, each with the reference host in it.

Nothing here needs pytest. What they do is a function `deed(app, *arguments)` at the top of a
module, called inside an application context; what it returns must be picklable.
"""

import multiprocessing
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Barrier
from queue import Empty
from typing import Any

from sqlalchemy import text

import hosting
from host_app import create_app
from host_app.models import db

spawn = multiprocessing.get_context("spawn")
LONGEST = 600
"""Seconds until a member that hangs fails the test."""

Deed = Callable[..., Any]


class DeedFailed(Exception):
    """A deed raised; the message is the traceback of its process."""


def member(settings: dict[str, Any], start: Barrier, tasks: Any, outcomes: Any) -> None:
    """Wait for each task and begin it at the same moment as the others."""
    app = create_app(settings)
    with app.app_context():
        db.session.execute(text("SELECT 1"))  # warm: the first connection
    while (task := tasks.get()) is not None:
        number, deed, arguments = task
        start.wait(LONGEST)
        try:
            with app.app_context():
                outcomes.put((number, deed(app, *arguments), None))
        except Exception:
            outcomes.put((number, None, traceback.format_exc()))
    hosting.close_host(app)


class Crew:
    """A number of processes on one database."""

    def __init__(self, settings: dict[str, Any], members: int) -> None:
        self.size = members
        self._start = spawn.Barrier(members)
        self._outcomes = spawn.Queue()
        self._tasks = [spawn.Queue() for _ in range(members)]
        self._processes = [
            spawn.Process(target=member, args=(settings, self._start, queue, self._outcomes))
            for queue in self._tasks
        ]
        for process in self._processes:
            process.start()

    def together(self, deed: Deed, *arguments: tuple[Any, ...]) -> list[Any]:
        """What each member's deed returned, with its own arguments; raises DeedFailed."""
        for number, (queue, own) in enumerate(zip(self._tasks, arguments, strict=True)):
            queue.put((number, deed, own))
        outcomes = sorted(
            (self._next_outcome() for _ in self._tasks), key=lambda outcome: int(outcome[0])
        )
        failures = [failure for _, _, failure in outcomes if failure is not None]
        if failures:
            raise DeedFailed("\n".join(failures))
        return [result for _, result, _ in outcomes]

    def _next_outcome(self) -> Any:
        deadline = time.monotonic() + LONGEST
        while time.monotonic() < deadline:
            try:
                return self._outcomes.get(timeout=1)
            except Empty:
                for process in self._processes:
                    if process.exitcode is not None:
                        raise DeedFailed(f"A member ended ({process.exitcode}).") from None
        raise DeedFailed(f"A member has not answered for {LONGEST} seconds.")

    def close(self) -> None:
        """End the processes."""
        self._start.abort()  # nobody waits for one that ended early
        for queue in self._tasks:
            queue.put(None)
        for process in self._processes:
            process.join(LONGEST)
            process.close()
        for queue in (*self._tasks, self._outcomes):
            queue.close()
            queue.join_thread()


@contextmanager
def crew_of(members: int, settings: dict[str, Any]) -> Iterator[Crew]:
    """A crew, ended with the block."""
    crew = Crew(settings, members)
    try:
        yield crew
    finally:
        crew.close()
