"""Two hosts behind nginx, one database, one Redis: one host killed again and again, the database
cut off and restarted. What was answered stays; there are errors only while something is down.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import flask_migrate
import pytest
import requests
from flask import Flask

import hosting
from hostile.gate import terminate_connections
from ports import free_port
from production.servers import (
    Cluster,
    Host,
    Nginx,
    own_cluster,
    own_nginx,
    own_redis,
    program,
)
from production.traffic import TIMEOUT, Application, Book, Service, at_work

NEEDED = ("nginx", "initdb", "pg_ctl", "redis-server")
MISSING = [name for name in NEEDED if program(name) is None]

SECONDS = 180
"""The least the traffic lasts; starting hosts again comes on top."""

KILLS = 8


@dataclass(frozen=True)
class Site:
    """Everything that runs. app: a host in this process, for commands."""

    app: Flask
    hosts: list[Host]
    nginx: Nginx
    cluster: Cluster


@contextmanager
def whole_site(folder: Path) -> Iterator[Site]:
    port = free_port()
    with own_cluster() as cluster, own_redis(folder) as redis:
        settings = hosting.configuration(
            cluster.url,
            IDSYNC_ISSUER=f"https://localhost:{port}",
            IDSYNC_LIMITS_STORAGE=redis,
            HOST_PROXIES=1,
            **hosting.NO_LIMITS,
        )
        hosts = [Host(folder / name, settings) for name in ("one", "two")]
        with hosting.host(settings) as app:
            with app.app_context():
                flask_migrate.upgrade()
            try:
                for host in hosts:
                    host.start()
                with own_nginx(folder / "nginx", [one.port for one in hosts], port) as nginx:
                    yield Site(app, hosts, nginx, cluster)
            finally:
                for host in hosts:
                    host.stop()


def disturb(site: Site, book: Book) -> None:
    """Kill and start one host again and again; in between cut the database off, then its power."""
    pause, victim = SECONDS / (KILLS + 3), site.hosts[1]
    for number in range(KILLS):
        time.sleep(pause)
        with book.something_is_down("a host"):
            victim.kill()
            time.sleep(1)
            victim.start()
        if number == KILLS // 3:
            time.sleep(pause)
            with book.something_is_down("connections"):
                terminate_connections(site.cluster.url)
        if number == 2 * KILLS // 3:
            time.sleep(pause)
            with book.something_is_down("the database"):
                site.cluster.cut_power()
                for host in site.hosts:
                    host.wait_until_ready()
    time.sleep(pause)


@pytest.mark.proof
@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_what_was_answered_stays_whatever_fails(tmp_path: Path) -> None:
    """No answered 2xx is lost, no token works twice, no error while everything is up."""
    with whole_site(tmp_path) as site:
        book = Book()
        place = (book, site.nginx.url, site.nginx.certificate)
        ours = hosting.register_application(site.app, "Ours", "--first-party")
        applications = [
            Application(
                hosting.add_person(site.app, f"Person {seed}", f"person{seed}@example.org"),
                *place,
                ours,
                seed,
            )
            for seed in range(4)
        ]
        services = [
            Service(
                *place,
                hosting.register_application(
                    site.app, f"Service {seed}", "--first-party", "--accounts"
                ),
                seed,
            )
            for seed in range(2)
        ]
        with at_work([*applications, *services]):
            disturb(site, book)
        saw = sum((one.saw for one in applications), start=Counter())
        promised = sum(len(one.names) for one in services)
        print(f"\n{book.summary()}\n{dict(saw)}, {promised} accounts")
        assert book.wrong == []
        assert book.unexplained() == []
        for application in applications:
            last_token_works_once(application)
        for service in services:
            nothing_promised_is_lost(service)
        assert len(book.down) == KILLS + 2
        assert min(saw["signed in"], saw["refreshed"], saw["raced"], promised) > KILLS


def last_token_works_once(application: Application) -> None:
    """The token in hand at the end, where there is one."""
    if application.token is not None:
        first, second = application.present(), application.present()
        assert first is not None
        assert second is not None
        assert (first.status_code, second.status_code) == (200, 400)


def nothing_promised_is_lost(service: Service) -> None:
    """Every account that was made is there, by the name that was last promised."""
    answer = requests.get(
        service.url + "/api/service/accounts",
        auth=service.client.basic,
        verify=service.certificate,
        timeout=TIMEOUT,
    )
    now = {one["id"]: one["name"] for one in answer.json()["accounts"]}
    assert {i: now.get(i) for i, names in service.names.items() if now.get(i) not in names} == {}
