"""Readers that follow while processes change accounts have what the directory has, in the end."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from typing import Any

import pytest
from flask import Flask

from account_api.backups import backup_of
from account_api.calling import counter, register, run
from account_api.copies import CopyByEtag, CopyBySince
from account_api.wandering import wander, wander_apart
from idsync.crypto.exchange import ExchangeHash
from races.crew import Crew, crew_of

TAG = "wiki"
Copies = list[CopyBySince | CopyByEtag]
Change = Callable[[int], None]


@pytest.fixture
def app(host: Flask) -> Flask:
    """Has the configuration of the processes."""
    return host


@pytest.fixture
def copies(app: Flask) -> Copies:
    """Three services: with `since`, with `since` and `tag`, and with an ETag only."""
    services = [register(app, name) for name in ("All", "Wiki", "Each time")]
    services[0].created("The first, from whom on changes are counted")
    return [CopyBySince(services[0]), CopyBySince(services[1], TAG), CopyByEtag(services[2])]


@contextmanager
def following(copies: Copies) -> Iterator[None]:
    """All of them follow until the block is over, and once more."""
    over = threading.Event()

    def follow(copy: CopyBySince | CopyByEtag) -> None:
        last = False
        while not last:
            last = over.wait(0.01)
            copy.follow()

    with ThreadPoolExecutor(len(copies)) as threads:
        followers = [threads.submit(follow, copy) for copy in copies]
        try:
            yield
        finally:
            over.set()
        for follower in followers:
            follower.result()


def check(copies: Copies) -> None:
    assert [copy.differences() for copy in copies] == [[], [], []]


@pytest.fixture(scope="module")
def verifiers() -> dict[str, str]:
    """Hashes by their passwords."""
    passwords = (f"password {number}" for number in range(4))
    return {one: str(ExchangeHash.create(one, iterations=10_000)) for one in passwords}


@pytest.fixture
def by_processes(
    app: Flask, settings: dict[str, Any], verifiers: dict[str, str]
) -> Iterator[Callable[[int], Change]]:
    """Makes changes in so many processes at once, the steps in each."""
    client, seeds = register(app, "Changes").client, count()

    def change(crew: Crew, steps: int) -> None:
        crew.together(
            wander_apart, *((client, next(seeds), steps, verifiers) for _ in range(crew.size))
        )

    with ExitStack() as crews:
        yield lambda members: partial(change, crews.enter_context(crew_of(members, settings)))


@pytest.fixture
def one_by_one(app: Flask, verifiers: dict[str, str]) -> Change:
    """Makes the same changes in this process."""
    client, seeds = register(app, "Changes").client, count()

    def change(steps: int) -> None:
        with app.app_context():
            wander(app, client, next(seeds), steps, verifiers)

    return change


def follow_changes(copies: Copies, change: Change, steps: int) -> None:
    with following(copies):
        change(steps)
    check(copies)
    by_since, by_tag, by_etag = copies
    assert (by_since.whole_lists, by_tag.whole_lists) == (1, 1)
    assert by_since.changes > steps / 2
    assert by_tag.removed > 0
    assert by_etag.whole_lists > 1


def follow_across_a_restored_backup(
    app: Flask, copies: Copies, change: Change, steps: int, finder: int | None
) -> None:
    """finder: whose cursor, ahead of the counter, gives it away; None where the operator says so.

    For the others the counter has passed what was lost by the time they ask.
    """
    with following(copies):
        change(steps)
    with backup_of(app) as backup:
        backed_up = counter(app)
        with following(copies):
            change(steps)  # all this is lost
        check(copies)
        lost = counter(app)
        lists = [copy.whole_lists for copy in copies]
        backup.restore()
        assert counter(app) == backed_up < lost
        if finder is None:
            run(app, "restored")
        else:
            copies[finder].follow()
        change(3 * steps)
        assert counter(app) > lost
        with following(copies):
            change(steps)
        check(copies)
        assert all(copy.whole_lists > before for copy, before in zip(copies, lists, strict=True))


who_finds_out = pytest.mark.parametrize(
    "finder", [None, 0, 1, 2], ids=["operator", "since", "since and tag", "ETag"]
)


def test_copies_equal_the_directory_while_processes_change_it(
    by_processes: Callable[[int], Change], copies: Copies
) -> None:
    """Whatever is changed, by services, commands and the host's own code."""
    follow_changes(copies, by_processes(3), 40)


@who_finds_out
def test_copies_equal_the_directory_after_a_backup_was_restored(
    app: Flask, one_by_one: Change, copies: Copies, finder: int | None
) -> None:
    """What a copy had and the directory lost goes from the copy as well."""
    follow_across_a_restored_backup(app, copies, one_by_one, 8, finder)


@pytest.mark.proof
def test_copies_equal_the_directory_while_eight_processes_change_it(
    by_processes: Callable[[int], Change], copies: Copies
) -> None:
    """The same for long."""
    follow_changes(copies, by_processes(8), 1000)
    assert all(copy.removed > 0 for copy in copies[:2])


@pytest.mark.proof
@who_finds_out
def test_copies_equal_the_directory_after_eight_processes_lost_their_changes(
    app: Flask, by_processes: Callable[[int], Change], copies: Copies, finder: int | None
) -> None:
    """The same across a restored backup."""
    follow_across_a_restored_backup(app, copies, by_processes(8), 50, finder)
