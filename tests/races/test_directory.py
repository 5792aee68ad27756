"""One order for all changes of accounts, with real processes on real databases."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import text

from host_app.models import User, db, identity
from idsync.accounts.change import Change
from idsync.audit.events import COMMAND
from races import deeds
from races.crew import Crew

TRANSACTIONS = 40
PATIENCE = 60  # seconds


@pytest.fixture
def parts(host: Flask) -> Iterator[Any]:
    """The parts of the host in this process, inside an application context."""
    with host.app_context():
        yield host.extensions["idsync"]


def add(email: str, **values: Any) -> Any:
    record = identity.directory.add(actor=COMMAND, name="Ada", email=email, **values)
    db.session.commit()
    return record


def one_row(statement: str, **values: Any) -> tuple[Any, ...]:
    """Read with a transaction of its own, so that nothing old is seen."""
    row = db.session.execute(text(statement), values).one()
    db.session.rollback()
    return tuple(row)


# --- transactions of the host ---------------------------------------------------------------------


class OrderBroken(Exception):
    """A change appeared below a revision that was seen before it."""


@contextmanager
def watched(host: Flask) -> Iterator[None]:
    """Read the counter and every account's revision, all in one statement, again and again.

    Before the block, while it lasts, and after it.
    """
    begun, over = threading.Event(), threading.Event()

    def watch() -> None:
        known: dict[int, int] = {}
        seen, last = 0, False
        with host.app_context():
            while not last:
                last = over.is_set()
                rows = db.session.execute(
                    text(
                        "SELECT directory.revision, account.account_key, account.revision "
                        "FROM idsync_directory AS directory, idsync_account AS account"
                    )
                ).all()
                db.session.rollback()
                now = max((row[0] for row in rows), default=0)
                for _, key, revision in rows:
                    if known.get(key) != revision and not seen < revision <= now:
                        raise OrderBroken(f"{revision} appeared after {seen}; now {now}")
                    known[key] = revision
                seen = now
                begun.set()
                over.wait(0.001)

    with ThreadPoolExecutor(1) as thread:
        watching = thread.submit(watch)
        try:
            assert begun.wait(PATIENCE)
            yield
        finally:
            over.set()
        watching.result()


def race_of_the_hosts_transactions(
    host: Flask, parts: Any, crew: Crew, *, people: int, rounds: int
) -> None:
    records = [add(f"person{number}@example.org") for number in range(people)]
    keys = [record.account_key for record in records]
    each = TRANSACTIONS // crew.size
    for round_ in range(rounds):
        before = parts.revisions.current(db.session)[1]
        db.session.rollback()
        renamings = [
            deeds.Renaming(
                keys[number % people],
                name=f"{round_}: transaction {number}",
                # Some do not: they must not meet the others in another order of locks.
                touches_first=number % 4 != 3,
            )
            for number in range(TRANSACTIONS)
        ]
        shares = [(renamings[start : start + each],) for start in range(0, TRANSACTIONS, each)]
        with watched(host):
            stamped = [
                one for share in crew.together(deeds.rename_at_once, *shares) for one in share
            ]
        assert sorted(revision for revision, _ in stamped) == list(
            range(before + 1, before + TRANSACTIONS + 1)
        )
        last: dict[int, tuple[int, str]] = {}
        for revision, renaming in sorted(stamped, key=lambda one: one[0]):
            last[renaming.key] = (revision, renaming.name)
        db.session.expire_all()
        found = {
            user.id: (identity.directory.record_of(user).revision, user.name)
            for user in db.session.query(User)
        }
        # Who committed last in the order of revisions is who the database kept.
        assert {key: found[key] for key in last} == last
        db.session.rollback()


def test_40_transactions_of_the_host_keep_the_order(
    host: Flask, parts: Any, crew: Callable[[int], Crew]
) -> None:
    """They touch another column, flush, then change the name: no deadlock, every change stamped,
    revisions unique and in the order of the commits.
    """
    race_of_the_hosts_transactions(host, parts, crew(4), people=10, rounds=1)


@pytest.mark.proof
@pytest.mark.parametrize("people", [1, 7, 40])
def test_40_transactions_of_the_host_keep_the_order_40_times(
    host: Flask, parts: Any, crew: Callable[[int], Crew], people: int
) -> None:
    """All on one person, several on each, or each on a person of its own; eight processes."""
    race_of_the_hosts_transactions(host, parts, crew(8), people=people, rounds=40)


# --- two at once ----------------------------------------------------------------------------------


def race_to_create(parts: Any, pair: Crew, rounds: int) -> None:
    for number in range(rounds):
        outcomes = pair.together(
            deeds.create_or_attach,
            (f"person{number}@example.org", "wiki"),
            (f"PERSON{number}@Example.org", "mail"),
        )
        assert sorted(existed for _, existed in outcomes) == [False, True], outcomes
        assert len({subject for subject, _ in outcomes}) == 1
        account = identity.directory.find(outcomes[0][0])
        assert account is not None
        assert account.tags == {"wiki", "mail"}
        db.session.rollback()
    assert one_row("SELECT count(*) FROM idsync_account") == (rounds,)
    assert one_row("SELECT count(*) FROM person") == (rounds,)


def race_to_tag(parts: Any, pair: Crew, rounds: int) -> None:
    subject = add("tagged@example.org").subject
    for number in range(rounds):
        tags = (f"{number}-a", f"{number}-b")
        before = tuple(identity.directory.record(subject).tags)
        db.session.rollback()
        wishes = [Change(tags_add=(tag,), tags_remove=before[:1]) for tag in tags]
        done = pair.together(deeds.change, *((subject, wish) for wish in wishes))
        assert done == ["done", "done"]
        assert set(identity.directory.record(subject).tags) == {*before[1:], *tags}
        db.session.rollback()


def race_for_an_email(parts: Any, pair: Crew, rounds: int) -> None:
    subjects = [add(f"{name}@example.org").subject for name in ("one", "two")]
    for number in range(rounds):
        wishes = (f"wanted{number}@example.org", f"WANTED{number}@example.org")
        done = pair.together(
            deeds.change,
            *(
                (subject, Change(email=email))
                for subject, email in zip(subjects, wishes, strict=True)
            ),
        )
        assert sorted(done) == ["done", "email"]
        winner = identity.directory.find(subjects[done.index("done")])
        assert winner is not None
        assert winner.email == wishes[done.index("done")]
        db.session.rollback()


RACES = [race_to_create, race_to_tag, race_for_an_email]


def test_of_two_at_once_both_are_right(parts: Any, crew: Callable[[int], Crew]) -> None:
    """Two creates of one e-mail: one account, the other existed. Two changes of one account's tags:
    both hold. Two changes to one e-mail: one wins, the other hears that it is taken.
    """
    pair = crew(2)
    for race_of_two in RACES:
        race_of_two(parts, pair, 20)


@pytest.mark.proof
@pytest.mark.parametrize("race_of_two", RACES)
def test_of_two_at_once_both_are_right_500_times(
    parts: Any, crew: Callable[[int], Crew], race_of_two: Callable[[Any, Crew, int], None]
) -> None:
    """The same, 500 rounds on each database."""
    race_of_two(parts, crew(2), 500)
