"""How far each service has come is recorded and shown: what it sends is what it has."""

import datetime as dt
from typing import Any

from flask import Flask
from sqlalchemy import event

from account_api.calling import Service, register, run
from host_app.models import db


def shown(service: Service) -> tuple[Any, Any]:
    """When it last pulled, and how many changes it lacked, as `application show` says."""
    one = run(service.app, "application", "show", service.client.client_id, "--json")
    listed = run(service.app, "application", "list", "--json")
    (same,) = [other for other in listed if other["client_id"] == service.client.client_id]
    assert (same["last_pull"], same["behind"]) == (one["last_pull"], one["behind"])
    return one["last_pull"], one["behind"]


def test_a_service_that_never_pulled_has_no_time(service: Service) -> None:
    """Creating and changing is no pull."""
    service.created()
    assert shown(service) == (None, None)


def test_what_a_service_sends_is_what_it_has(app: Flask, service: Service) -> None:
    """With `since` or an ETag; the whole list asked for means that it has nothing to go on from."""
    ada = service.created()
    first = service.list()
    at, behind = shown(service)
    assert behind is None
    assert abs(dt.datetime.fromisoformat(at) - dt.datetime.now(dt.UTC)) < dt.timedelta(minutes=1)
    cursor, etag = first.json["cursor"], first.headers["ETag"]
    service.list(since=cursor)
    assert shown(service)[1] == 0
    for number in range(3):
        service.changed(ada, name=f"Name {number}")
    assert shown(service)[1] == 3
    last = service.list(since=cursor)  # it may never have arrived
    assert shown(service)[1] == 3
    service.list(etag=last.headers["ETag"])
    assert shown(service)[1] == 0
    service.list(etag=etag)
    assert shown(service)[1] == 3
    service.list(etag=f'"x", {etag}, {last.headers["ETag"]}')
    assert shown(service)[1] == 0
    service.list(since="garbage")
    assert shown(service)[1] is None


def test_each_service_has_its_own(app: Flask, service: Service) -> None:
    """And a cursor of a former incarnation counts as nothing."""
    service.created()
    other = register(app, "Mail")
    service.list(since=service.whole()["cursor"])
    assert shown(service)[1] == 0
    assert shown(other) == (None, None)
    run(app, "restored")
    assert shown(service)[1] is None


def test_it_is_readable_too(service: Service) -> None:
    """Columns of `application list`."""
    service.list()
    said = run(service.app, "application", "list")
    assert "LAST PULL" in said
    assert "BEHIND" in said


def test_a_list_of_many_applications_reads_the_pulls_once(app: Flask, service: Service) -> None:
    """Three more applications take no more statements."""
    told: list[str] = []
    with app.app_context():
        engine = db.engine
    event.listen(engine, "before_cursor_execute", lambda *given: told.append(given[2]))

    def statements() -> int:
        told.clear()
        run(app, "application", "list", "--json")
        return len(told)

    service.list()
    few = statements()
    for number in range(3):
        register(app, f"Service {number}")
    assert statements() == few
