"""What every page of the reference host has, and has not."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from flask import Flask, abort
from flask.testing import FlaskClient
from sqlalchemy import event

import hosting
from host_app.models import db

PAGES = ["/", "/sign-in", "/nowhere", "/oauth/authorize", "consent"]


def open_page(app: Flask, client: FlaskClient, address: str) -> tuple[str, dict[str, str]]:
    if address == "consent":
        hosting.sign_in(client, hosting.add_person(app))
        start = client.get(hosting.authorize_path(hosting.register_application(app)))
        answer = hosting.follow(client, start)
        assert 'name="decision"' in answer.text
    else:
        answer = client.get(address)
    return answer.text, dict(answer.headers)


@pytest.mark.parametrize("address", PAGES)
def test_a_page_protects_itself(app: Flask, client: FlaskClient, address: str) -> None:
    """No frames, no foreign content, no caching, a referrer for ourselves; scripts where needed."""
    _, headers = open_page(app, client, address)
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    scripts = re.findall(r"script-src ([^;]+)", policy)
    assert scripts == (["'self'"] if address == "/sign-in" else [])
    assert "unsafe" not in policy
    assert "form-action" not in policy  # Chromium applies it to where the form's answer leads
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("address", PAGES)
def test_a_page_has_no_script_in_it_and_needs_no_other_site(
    app: Flask, client: FlaskClient, address: str
) -> None:
    page, _ = open_page(app, client, address)
    assert not re.search(r'<script(?! src="/static/[a-z]+\.js" defer></script>)', page)
    assert not re.search(r"\son\w+=|\sstyle=|<style|javascript:", page)
    assert not re.search(r'(src|href)="(https?:)?//', page)
    for file in re.findall(r'<(?:link|img|script)[^>]*(?:href|src)="([^"]+)"', page):
        with client.get(file) as answer:
            assert answer.status_code == 200


@pytest.mark.parametrize("address", PAGES)
def test_all_pages_share_one_look_and_say_their_language(
    app: Flask, client: FlaskClient, address: str
) -> None:
    page, _ = open_page(app, client, address)
    assert '<html lang="en">' in page
    assert 'class="host-card"' in page


def test_static_files_may_be_kept(client: FlaskClient) -> None:
    with client.get("/static/host.css") as answer:
        assert "no-store" not in answer.headers["Cache-Control"]


def test_a_visitor_with_another_language_gets_english(client: FlaskClient) -> None:
    page = client.get("/sign-in", headers={"Accept-Language": "fr,de;q=0.5"}).text
    assert "E-mail address" in page


def test_a_request_that_is_too_large_gets_a_page(client: FlaskClient) -> None:
    answer = client.post("/sign-in", data={"email": "x" * 300_000})
    assert answer.status_code == 413
    assert "That did not work" in answer.text


def test_a_bug_of_ours_gets_a_page_without_details(database_url: str) -> None:
    with hosting.host(hosting.configuration(database_url, TESTING=False)) as app:
        app.add_url_rule("/bug", "bug", lambda: 1 / 0)
        app.add_url_rule("/teapot", "teapot", lambda: abort(418))
        client = app.test_client()
        answer = client.get("/bug")
        assert answer.status_code == 500
        assert "Something went wrong on our side" in answer.text
        assert "ZeroDivisionError" not in answer.text
        assert client.get("/teapot").status_code == 418


@contextmanager
def database_away(app: Flask) -> Iterator[None]:
    """Nobody can connect, and nobody is connected."""
    with app.app_context():
        engine = db.engine

    def away(*_: object) -> None:
        raise engine.dialect.loaded_dbapi.OperationalError("the database is away")

    event.listen(engine, "do_connect", away)
    engine.dispose()
    yield
    event.remove(engine, "do_connect", away)


@pytest.mark.parametrize("address", ["/", "/sign-in", "/oauth/authorize?pending=x", "authorize"])
def test_a_database_that_is_away_gets_a_page_and_comes_back(
    app: Flask, client: FlaskClient, address: str
) -> None:
    """503 with Retry-After, for somebody signed in as well; nothing has to be started again."""
    person = hosting.add_person(app)
    hosting.sign_in(client, person)
    if address == "authorize":
        address = hosting.authorize_path(hosting.register_application(app))
    expected = client.get(address).status_code
    with database_away(app):
        answer = client.get(address)
    if address != "/oauth/authorize?pending=x":  # which may be refused without looking
        assert answer.status_code == 503
        assert int(answer.headers["Retry-After"]) > 0
        assert "the database is away" not in answer.text
        assert 'class="host-card"' in answer.text
    assert client.get(address).status_code == expected


def test_signing_in_while_the_database_is_away(app: Flask, client: FlaskClient) -> None:
    person = hosting.add_person(app)
    token = hosting.hidden_fields(client.get("/sign-in").text)
    fields = {**token, "email": person.email, "password": person.password}
    with database_away(app):
        assert client.post("/sign-in", data=fields).status_code == 503
    assert client.post("/sign-in", data=fields).status_code == 303
