"""Long work that is killed at random points of its way, and what it left in the database.

Nothing here needs pytest. What reads the database does so in the caller's application context.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from flask import Flask
from sqlalchemy import text

import hosting
from host_app.models import db
from kills.killing import kill_when


def rows(statement: str, **values: Any) -> list[tuple[Any, ...]]:
    """Read in a transaction of its own."""
    found = [tuple(row) for row in db.session.execute(text(statement), values)]
    db.session.rollback()
    return found


def number_of(statement: str, **values: Any) -> int:
    return int(rows(f"SELECT count(*) FROM {statement}", **values)[0][0])  # noqa: S608


def assert_sound(app: Flask) -> None:
    with app.app_context():
        found = hosting.run(app, "idsync", "directory", "verify", "--json")["problems"]
    assert (len(found), found[:3]) == (0, [])


class Interrupted:
    """Kills a command again and again, at random points of its way from 0 to `total`."""

    def __init__(self, seed: int, total: int, done: Callable[[], int]) -> None:
        self._random = Random(seed)  # noqa: S311
        self._total = total
        self._done = done
        self.midway = 0

    def kill(self, times: int, settings: dict[str, Any], *arguments: str) -> None:
        for _ in range(times):
            begun = self._done()
            # Early in what is left: the kill comes a little later than the look.
            share = self._random.random() ** 2 / 2
            wanted = begun + int((self._total - begun) * share)
            kill_when(lambda wanted=wanted: self._done() > wanted, settings, *arguments)
            self.midway += 0 < self._done() < self._total
