"""Killed at any point, a pull leaves the copy as it was or as it shall be; the next one ends it."""

import random
import time
from collections.abc import Sequence
from pathlib import Path
from subprocess import Popen

import pytest

import hosting
from consumer_kit import Consumer, consumer, copied, directory, started
from live import LiveHost

PEOPLE = 120
LONGEST_PULL = 0.15  # seconds, about


def kill_during_a_pull(process: Popen[str], chance: random.Random) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    time.sleep(chance.uniform(0, LONGEST_PULL))
    process.kill()
    process.wait()


def alter(host: LiveHost, service: Consumer, ids: Sequence[str], chance: random.Random) -> None:
    """Change a few people; sometimes make the next list a whole one."""
    for id in chance.sample(ids, 4):
        service.api.change(id, name=f"Name {chance.random()}")
    wanted = chance.choice(ids)
    tags = {"tags_remove": [service.tag]}, {"tags_add": [service.tag]}
    service.api.change(wanted, **chance.choice(tags))
    if chance.random() < 0.7:
        hosting.run(host.app, "idsync", "restored")


def run_kills(host: LiveHost, tag: str, copy_url: str, kills: int) -> None:
    script = Path(__file__).with_name("puller.py")
    chance = random.Random(kills)  # noqa: S311 - repeatable
    with consumer(host, tag, copy_url, claim_seconds=0.5) as service:
        made = [service.api.create(f"P {n}", None, None, [tag]) for n in range(PEOPLE)]
        ids = [one.account.id for one in made]
        for _ in range(kills):
            before = copied(service.store)
            with started(script, host.url, *service.client.basic, tag, copy_url) as process:
                alter(host, service, ids, chance)
                wanted = directory(service)
                kill_during_a_pull(process, chance)
            assert copied(service.store) in (before, wanted)
            service.copy.pull(wait=30)
            assert copied(service.store) == wanted


def test_a_few_kills(host: LiveHost, tag: str, copy_url: str) -> None:
    run_kills(host, tag, copy_url, 2)


@pytest.mark.proof
def test_five_hundred_kills(host: LiveHost, tag: str, copy_url: str) -> None:
    """250 on each kind of database."""
    run_kills(host, tag, copy_url, 250)
