"""How many statements a request costs. The figures are exact: one more is a decision."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import event

from flows.visits import signed_in_application
from host_app.models import db


@pytest.fixture
def count(app: Flask) -> Iterator[Callable[[Callable[[], Any]], tuple[int, Any]]]:
    """Calls something; the number of statements that took, and what it returned."""
    seen: list[str] = []
    with app.app_context():
        engine = db.engine

    def see(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)

    def counted(call: Callable[[], Any]) -> tuple[int, Any]:
        seen.clear()
        result = call()
        return len(seen), result

    event.listen(engine, "before_cursor_execute", see)
    yield counted
    event.remove(engine, "before_cursor_execute", see)


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_statements_of_the_machine_endpoints(
    app: Flask, client: FlaskClient, count: Callable[..., tuple[int, Any]], algorithm: str
) -> None:
    """Userinfo reads once; a refresh reads application and grant and writes once."""
    _, application, tokens = signed_in_application(app, client, "--id-token-alg", algorithm)
    programs = app.test_client(use_cookies=False)
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    statements, answer = count(lambda: programs.get("/oauth/userinfo", headers=bearer))
    assert (answer.status_code, statements) == (200, 1)

    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    statements, answer = count(
        lambda: programs.post("/oauth/token", data=form, auth=application.basic)
    )
    assert (answer.status_code, statements) == (200, 3)

    form = {"token": answer.json["access_token"]}
    statements, answer = count(lambda: programs.post("/oauth/revoke", data=form))
    assert (answer.json, statements) == ({}, 2)


def test_what_is_no_token_of_ours_reaches_no_database(
    client: FlaskClient, count: Callable[..., tuple[int, Any]]
) -> None:
    """Garbage at userinfo and revoke costs no statement."""
    client.get("/oauth/jwks")
    bearer = {"Authorization": "Bearer at_nonsense.nonsense"}
    assert count(lambda: client.get("/oauth/userinfo", headers=bearer).status_code) == (0, 401)
    form = {"token": "rt_nonsense.nonsense"}
    assert count(lambda: client.post("/oauth/revoke", data=form).status_code) == (0, 200)
