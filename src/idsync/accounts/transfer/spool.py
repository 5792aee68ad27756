"""A checked file, kept until it is written: on disk, because it may be larger than the memory.

What is written is then what was checked, also where the file changes meanwhile.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from idsync.accounts.transfer.person import Person


class Spool:
    """People and their line numbers, and who of them has which e-mail address, id and phone."""

    def __init__(self) -> None:
        # An unnamed database: a file that only this process can open and that goes with it.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.execute("CREATE TABLE person (line INTEGER PRIMARY KEY, says TEXT)")
        self._database.execute(
            "CREATE TABLE taken (field TEXT, key TEXT, line INTEGER, PRIMARY KEY (field, key))"
            " WITHOUT ROWID"
        )
        self._database.execute("BEGIN")

    def add(self, line: int, person: Person) -> None:
        """Keep a person."""
        says = json.dumps(person.values(), ensure_ascii=False)
        self._database.execute("INSERT INTO person VALUES (?, ?)", (line, says))

    def take(self, field: str, key: str, line: int) -> int | None:
        """Note who has something that nobody else may have; the earlier line, where one has it."""
        note = "INSERT INTO taken VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        if self._database.execute(note, (field, key, line)).rowcount:
            return None
        found = self._database.execute(
            "SELECT line FROM taken WHERE field = ? AND key = ?", (field, key)
        )
        return int(found.fetchone()[0])

    def count(self) -> int:
        """How many people there are."""
        return int(self._database.execute("SELECT count(*) FROM person").fetchone()[0])

    def batches(self, size: int) -> Iterator[list[tuple[int, Person]]]:
        """The people in the order of their lines, some at a time."""
        rows = self._database.execute("SELECT line, says FROM person ORDER BY line")
        while batch := rows.fetchmany(size):
            yield [(line, _person(json.loads(says))) for line, says in batch]

    def close(self) -> None:
        """Forget everybody."""
        self._database.close()


def _person(values: dict[str, Any]) -> Person:
    return Person(**{**values, "tags": tuple(values["tags"])})
