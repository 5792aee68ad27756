"""A reader that follows the directory by revision has what the directory has, at every moment."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask

import hosting
from host_app.models import db
from idsync.crypto.exchange import ExchangeHash
from listed import ListedAccount, changes_since
from races import deeds
from races.crew import Crew

TAG = "wiki"


class Copy:
    """What a consuming service keeps: the accounts it was told of, and how far it has come."""

    def __init__(self, listing: Any, tag: str | None) -> None:
        self._listing = listing
        self._tag = tag
        self.revision = 0
        self.accounts: dict[str, ListedAccount] = {}

    def follow(self) -> int:
        """Take what changed; how much that was."""
        changes = changes_since(self._listing, self.revision, self._tag)
        assert changes.revision >= self.revision
        for account in changes.accounts:
            self.accounts[account.subject] = account
        for subject in changes.removed:
            self.accounts.pop(subject, None)
        self.revision = changes.revision
        return len(changes.accounts) + len(changes.removed)

    def check(self) -> None:
        """Compare with the whole list, read in the same snapshot."""
        whole = changes_since(self._listing, 0, self._tag)
        assert whole.revision == self.revision
        assert {account.subject: account for account in whole.accounts} == self.accounts


def begin_snapshot() -> None:
    """Let all that follows see one state of the database."""
    if db.engine.dialect.name == "sqlite":
        db.session.connection().exec_driver_sql("BEGIN")
    else:
        db.session.connection(execution_options={"isolation_level": "REPEATABLE READ"})


@pytest.fixture
def settings(database_url: str) -> dict[str, Any]:
    """A host that makes stronger hashes than those it is given, and so renews them."""
    return hosting.configuration(database_url, IDSYNC_PBKDF2_ITERATIONS=11_000)


@pytest.fixture
def copies(host: Flask) -> Iterator[list[Copy]]:
    """A copy of everything, and one of the accounts with a tag."""
    with host.app_context():
        listing = host.extensions["idsync"].listing
        yield [Copy(listing, None), Copy(listing, TAG)]


def follow_while_they_change(
    host: Flask, copies: list[Copy], crew: Crew, steps: int
) -> tuple[Counter[str], int]:
    over = threading.Event()

    def follow() -> int:
        """Both copies, in a snapshot for each read, until all is over and once more."""
        taken, last = 0, False
        with host.app_context():
            while not last:
                last = over.is_set()
                begin_snapshot()
                for copy in copies:
                    taken += copy.follow()
                    copy.check()
                db.session.rollback()
                over.wait(0.01)
        return taken

    weak = {
        password: str(ExchangeHash.create(password, iterations=10_000))
        for password in ("correct horse", "battery staple", "pass word")
    }
    with ThreadPoolExecutor(1) as thread:
        taken = thread.submit(follow)
        try:
            counters = crew.together(
                deeds.wander, *((seed, steps, weak) for seed in range(crew.size))
            )
        finally:
            over.set()
        done = sum(counters, Counter[str]())
        assert len([kind for kind in done if ":" not in kind]) == len(deeds.Wanderer.KINDS)
        return done, taken.result()


def test_no_change_is_skipped(host: Flask, copies: list[Copy], crew: Callable[[int], Crew]) -> None:
    """Processes change accounts in every way there is while a reader follows."""
    _, taken = follow_while_they_change(host, copies, crew(4), 60)
    assert taken > 100


@pytest.mark.proof
def test_no_change_is_skipped_in_16000_by_eight_processes(
    host: Flask, copies: list[Copy], crew: Callable[[int], Crew]
) -> None:
    """The same for long."""
    _, taken = follow_while_they_change(host, copies, crew(8), 2000)
    assert taken > 1000
