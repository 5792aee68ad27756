"""Killed at any point, a pull leaves the copy as it was or as it shall be; the next one ends it."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from subprocess import Popen

import pytest

import hosting
from consumer_kit import Consumer, consumer, copied, directory, started
from live import LiveHost

PEOPLE = 120


def kill_during_a_pull(puller: Popen[str], seconds: float) -> None:
    """Let a child begin to pull, and kill it after so many seconds, if it has not ended."""
    child = int(told(puller))
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    assert told(puller) in ("0\n", f"{-signal.SIGKILL}\n")


def told(puller: Popen[str]) -> str:
    """What a line of input lets the process say."""
    assert puller.stdin is not None
    assert puller.stdout is not None
    puller.stdin.write("\n")
    puller.stdin.flush()
    return puller.stdout.readline()


def alter(host: LiveHost, service: Consumer, ids: Sequence[str], chance: random.Random) -> None:
    """Change a few people; sometimes make the next list a whole one."""
    for id in chance.sample(ids, 4):
        service.api.change(id, name=f"Name {chance.random()}")
    wanted = chance.choice(ids)
    tags = {"tags_remove": [service.tag]}, {"tags_add": [service.tag]}
    service.api.change(wanted, **chance.choice(tags))
    if chance.random() < 0.7:
        hosting.run(host.app, "idsync", "restored")


def run_kills(host: LiveHost, tag: str, copy_url: str, kills: int) -> Counter[str]:
    """How often a kill came before the pull had its effect, and how often after."""
    script = Path(__file__).with_name("puller.py")
    chance, found = random.Random(kills), Counter[str]()  # noqa: S311 - repeatable
    with (
        consumer(host, tag, copy_url, claim_seconds=0.5) as service,
        started(script, host.url, *service.client.basic, tag, copy_url) as puller,
    ):
        made = [service.api.create(f"P {n}", None, None, [tag]) for n in range(PEOPLE)]
        ids = [one.account.id for one in made]
        pulled = service.copy.pull()
        for _ in range(kills):
            before = copied(service.store)
            alter(host, service, ids, chance)
            wanted = directory(service)
            kill_during_a_pull(puller, chance.uniform(0, 4 * pulled.seconds))
            after = copied(service.store)
            assert after in (before, wanted)
            found["after" if after == wanted else "before"] += 1
            pulled = service.copy.pull(wait=30)
            assert copied(service.store) == wanted
    return found


def test_a_few_kills(host: LiveHost, tag: str, copy_url: str) -> None:
    run_kills(host, tag, copy_url, 2)


@pytest.mark.proof
def test_five_hundred_kills(host: LiveHost, tag: str, copy_url: str) -> None:
    """250 on each kind of database; a good part of them came in time, and one too late."""
    found = run_kills(host, tag, copy_url, 250)
    print(dict(found))
    assert min(found["before"], found["after"]) > 25
