"""Changes of accounts at random, by the account API and in every other way there is."""

from collections.abc import Callable
from random import Random
from typing import Any

from flask import Flask

import hosting
from account_api.calling import Service
from races import deeds

TAGS = ("wiki", "mail", "ученик", "наставник")


def wander(
    app: Flask, client: hosting.Client, seed: int, steps: int, verifiers: dict[str, str]
) -> None:
    """Half of the steps are calls of a service, half are what commands and the host itself do.

    verifiers: exchange hashes by their passwords.
    """
    random, service = Random(seed), Service(app, client)  # noqa: S311
    ids = ["nobody"]
    for step in range(steps):
        if step % 2:
            deeds.wander(app, random.getrandbits(30), 1, verifiers)
        else:
            call(service, random, ids, list(verifiers.values()))


def wander_apart(app: Flask, *arguments: Any) -> None:
    """The same in a process of its own: leaves no connection, so the database may be replaced."""
    wander(app, *arguments)
    hosting.close_host(app)


def call(service: Service, random: Random, ids: list[str], hashes: list[str]) -> None:
    """One call that may be refused, never fail; ids: of accounts it made or met before."""
    calls: list[Callable[[], Any]] = [
        lambda: service.create(name=name, email=email, tags=[tag], password=hashed),
        lambda: service.create(name=name, id=f"own{random.randrange(50)}", tags=[tag]),
        lambda: service.change(one, name=name, tags_add=[tag]),
        lambda: service.change(one, tags_remove=[tag], disabled=random.random() < 0.3),
        lambda: service.change(one, email=email, password=hashed),
    ]
    name, email = f"Name {random.getrandbits(40)}", f"Person{random.randrange(30)}@example.org"
    tag, hashed, one = random.choice(TAGS), random.choice(hashes), random.choice(ids)
    answer = random.choice(calls)()
    assert answer.status_code in (200, 201, 400, 404), answer.text
    if answer.status_code < 300:
        ids.append(answer.json["id"])
