"""Tries: some at once, then one for each interval, counted in rows."""

import pytest
from flask import Flask
from sqlalchemy import func, select

import hosting
from host_app.models import User, db
from idsync import TooManyTries
from idsync.signin.assembly import SignIn, SignInTables
from idsync.signin.limits import TryLimit
from signin.conftest import Clock


@pytest.fixture
def limit(parts: SignIn, tables: SignInTables) -> TryLimit:
    return TryLimit(db.session, tables.tries, "test", tries=3, interval=60)


def use_up(limit: TryLimit, whose: str = "ada") -> int:
    """Take tries until there is none; how many there were."""
    for taken in range(20):
        try:
            limit.take(whose)
        except TooManyTries:
            return taken
    raise AssertionError("There is no limit.")


def test_some_tries_at_once_then_one_for_each_interval(limit: TryLimit, clock: Clock) -> None:
    assert use_up(limit) == 3
    clock.forward(59)
    assert use_up(limit) == 0
    clock.forward(1)
    assert use_up(limit) == 1
    clock.forward(2 * 60)
    assert use_up(limit) == 2
    clock.forward(24 * 3600)
    assert use_up(limit) == 3


def test_it_says_how_long_to_wait(limit: TryLimit, clock: Clock) -> None:
    use_up(limit)
    clock.forward(20.5)
    with pytest.raises(TooManyTries) as refused:
        limit.take("ada")
    assert refused.value.retry_after == 40
    clock.forward(40)
    limit.take("ada")


def test_a_refused_try_costs_nothing(limit: TryLimit, clock: Clock) -> None:
    """Or whoever goes on trying would keep the owner out for ever."""
    use_up(limit)
    for _ in range(30):
        clock.forward(1.9)
        assert use_up(limit) == 0
    clock.forward(3.1)
    assert use_up(limit) == 1


def test_a_clock_that_was_wrong_locks_nobody_out(limit: TryLimit, clock: Clock) -> None:
    """Tries counted in a future that never came count for nothing."""
    clock.forward(1_000_000)
    use_up(limit)
    clock.forward(-1_000_000)
    assert use_up(limit) == 3


@pytest.mark.parametrize("apart", [0.1, 60, 299])
def test_machines_whose_clocks_differ_give_no_more_tries(
    limit: TryLimit, clock: Clock, apart: float
) -> None:
    """The slower one sees a time that is not there yet."""
    use_up(limit)
    clock.forward(-apart)
    assert use_up(limit) == 0


def test_forgiven_tries_are_free_and_others_are_not(limit: TryLimit) -> None:
    use_up(limit, "ada")
    use_up(limit, "grace")
    limit.forgive("ada")
    db.session.commit()
    assert use_up(limit, "ada") == 3
    assert use_up(limit, "grace") == 0


def test_nothing_that_was_typed_is_kept(limit: TryLimit, tables: SignInTables) -> None:
    """People type passwords into the e-mail field."""
    limit.take("my secret password")
    row = db.session.execute(select(tables.tries)).one()
    assert b"secret" not in row.id
    assert len(row.id) == 32


def test_a_count_is_kept_when_the_request_fails(limit: TryLimit) -> None:
    """A guess that makes the view fail was a guess."""
    limit.take("ada")
    db.session.rollback()
    assert use_up(limit) == 2


def test_prune_forgets_counts_that_are_over(
    app: Flask, ada: User, limit: TryLimit, tables: SignInTables, clock: Clock
) -> None:
    limit.take("old")
    clock.forward(120)
    limit.take("new")
    hosting.run(app, "idsync", "prune")
    assert db.session.scalar(select(func.count()).select_from(tables.tries)) == 1
    assert use_up(limit, "new") == 2
