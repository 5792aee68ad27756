"""Secrets are sealed anew while the service works on, with workers that do not know the new key."""

import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask

import hosting
from host_app.models import User, db, identity
from idsync.audit.events import COMMAND
from races import deeds
from races.crew import Crew


def reseal_while_they_work(
    host: Flask, settings: dict[str, Any], crew: Crew, *, people: int, steps: int
) -> int:
    """How often everything was sealed anew."""
    with host.app_context():
        records = [
            identity.directory.add(actor=COMMAND, name=f"Person {number}", password="the first one")
            for number in range(people)
        ]
        db.session.commit()
        keys = [record.account_key for record in records]
    # Before anybody has the new key: with it in use, none could start without.
    crew.together(deeds.be_ready, *([()] * crew.size))
    new = secrets.token_urlsafe(32)
    both = {**settings, "IDSYNC_SEALING_KEYS": [new, *settings["IDSYNC_SEALING_KEYS"]]}
    over, rounds = threading.Event(), 0

    def work() -> list[dict[int, str]]:
        try:
            shares = ((keys[number :: crew.size], keys, steps) for number in range(crew.size))
            return crew.together(deeds.work_on, *shares)
        finally:
            over.set()

    with hosting.host(both) as resealing, ThreadPoolExecutor(1) as thread:
        working = thread.submit(work)
        while not over.is_set():
            hosting.run(resealing, "idsync", "keys", "reseal")
            rounds += 1
        passwords = dict.fromkeys(keys, "the first one")
        for last in working.result():
            passwords |= last
        hosting.run(resealing, "idsync", "keys", "reseal")
    with hosting.host({**settings, "IDSYNC_SEALING_KEYS": [new]}) as after, after.app_context():
        assert hosting.run(after, "idsync", "directory", "verify", "--json") == {"problems": []}
        lost = [
            key
            for key, password in passwords.items()
            if not identity.check_password(db.session.get(User, key), password)
        ]
        assert lost == []
    return rounds


def test_nothing_is_lost_while_secrets_are_sealed_anew(
    host: Flask, settings: dict[str, Any], crew: Callable[[int], Crew]
) -> None:
    """Each password is the last one that was set; names of several change at once; no deadlock."""
    assert reseal_while_they_work(host, settings, crew(2), people=100, steps=30) >= 1


@pytest.mark.proof
def test_nothing_is_lost_while_secrets_are_sealed_anew_for_long(
    host: Flask, settings: dict[str, Any], crew: Callable[[int], Crew]
) -> None:
    """The same with more workers."""
    assert reseal_while_they_work(host, settings, crew(6), people=500, steps=500) >= 10
