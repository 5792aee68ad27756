"""Somebody can always use the console."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask

from host_app.models import db, identity
from idsync import InvalidValue
from idsync.accounts.change import Change
from idsync.accounts.directory import Directory
from idsync.audit.events import COMMAND, Actor


def add(directory: Directory, name: str, *, administrator: bool = True) -> str:
    record = directory.add(actor=COMMAND, name=name, administrator=administrator)
    db.session.commit()
    return record.subject


def take_away(directory: Directory, how: str, subject: str, actor: Actor) -> None:
    if how == "erase":
        directory.erase(subject, actor=actor)
    else:
        change = Change(disabled=True) if how == "disable" else Change(administrator=False)
        directory.change(subject, change, actor=actor)
    db.session.commit()


HOW = pytest.mark.parametrize("how", ["disable", "demote", "erase"])


@HOW
def test_the_last_administrator_cannot_be_taken_away(directory: Directory, how: str) -> None:
    """By nobody at the console; a disabled one and other people do not count."""
    ada, grace = add(directory, "Ada"), add(directory, "Grace")
    add(directory, "Omar", administrator=False)
    directory.change(grace, Change(disabled=True), actor=COMMAND)
    db.session.commit()
    with pytest.raises(InvalidValue, match="only administrator"):
        take_away(directory, how, ada, Actor("person", ada))
    db.session.rollback()
    found = directory.find(ada)
    assert found is not None
    assert (found.administrator, found.disabled) == (True, False)


@HOW
def test_one_of_several_can(directory: Directory, how: str) -> None:
    """Also oneself."""
    ada, _ = add(directory, "Ada"), add(directory, "Grace")
    take_away(directory, how, ada, Actor("person", ada))
    found = directory.find(ada)
    assert found is None or found.disabled or not found.administrator


@HOW
def test_other_people_can_be_taken_away_by_the_last_administrator(
    directory: Directory, how: str
) -> None:
    ada, omar = add(directory, "Ada"), add(directory, "Omar", administrator=False)
    take_away(directory, how, omar, Actor("person", ada))


@HOW
def test_a_command_takes_the_last_one_away(directory: Directory, how: str) -> None:
    """Whoever has the command line can make another, and may have to stop this one."""
    take_away(directory, how, add(directory, "Ada"), COMMAND)


@HOW
def test_two_cannot_take_each_other_away(app: Flask, how: str) -> None:
    """At the same moment: one of them stays, and nobody deadlocks."""
    with app.app_context():
        both = [add(identity.directory, name) for name in ("Ada", "Grace")]
    ready = threading.Barrier(2)

    def by(actor: str, subject: str) -> bool:
        with app.app_context():
            ready.wait(10)
            try:
                take_away(identity.directory, how, subject, Actor("person", actor))
            except InvalidValue:
                db.session.rollback()
                return False
            return True

    with ThreadPoolExecutor(2) as threads:
        done = list(threads.map(by, both, reversed(both)))
    assert sorted(done) == [False, True]
    with app.app_context():
        left = [one for one in identity.directory.accounts() if one.administrator]
        assert [one for one in left if not one.disabled]
