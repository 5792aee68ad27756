"""Every address of the console refuses everybody but an administrator. Taken from the URL map, so
that no new one can be forgotten.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text
from werkzeug.test import TestResponse

import console_kit
import databases
import hosting
from host_app import create_app
from host_app.models import db, identity
from idsync import ConfigurationError
from idsync.administration.access import RECENT

ENDPOINT = "administration."
RULES = sorted(
    (
        rule
        for rule in create_app(hosting.configuration("sqlite://")).url_map.iter_rules()
        if rule.rule.startswith(console_kit.CONSOLE) or rule.endpoint.startswith(ENDPOINT)
    ),
    key=lambda rule: rule.rule,
)
ROUTES = [
    (method, rule.rule) for rule in RULES for method in ("GET", "POST") if method in rule.methods
]
CHANGES = [route for route in ROUTES if route[0] == "POST"]
UNTOUCHED = "idsync_account person idsync_application idsync_signing_key".split()
PASSWORD = "correct horse"


@dataclass
class Place:
    """A host with somebody to be changed, and a browser for each kind of visitor."""

    app: Flask
    values: dict[str, str]
    desk: console_kit.Desk
    visitors: dict[str, FlaskClient]

    def call(self, browser: FlaskClient, route: tuple[str, str], **options: Any) -> TestResponse:
        """Call an address as its form would; a POST with a valid token of that browser."""
        method, rule = route
        address = re.sub(r"<(\w+)>", lambda match: self.values[match[1]], rule)
        fields = {
            "csrf_token": token(browser),
            "name": "Forged",
            "tag": "forged",
            "typed": self.values["person_id"],
            "version": "1",
            "algorithm": "RS256",
            "overlap": "0",
            "redirect_uri": "https://forged.example/",
        }
        data = {**fields, **options.pop("fields", {})} if method == "POST" else None
        options.setdefault("headers", {"Referer": "http://localhost/"})
        return browser.open(address, method=method, data=data, **options)

    def state(self) -> Any:
        """Everything the console could have changed."""
        with self.app.app_context():
            rows = [
                [tuple(row) for row in db.session.execute(text(f"SELECT * FROM {name}"))]  # noqa: S608
                for name in UNTOUCHED
            ]
        return rows


def token(browser: FlaskClient) -> str:
    """A token that is good for this browser, from the sign-in page."""
    return hosting.hidden_fields(browser.get("/sign-in?next=/nowhere").text)["csrf_token"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    app = hosting.make_host(databases.sqlite_url(tmp_path_factory.mktemp("console")))
    victim = hosting.add_person(app, "Omar", "omar@example.org", PASSWORD)
    application = hosting.register_application(app, "Wiki")
    desk = console_kit.sit_down(app)
    desk.get("/keys")
    kid = re.findall(r'id="key-\d+">([^<]+)', desk.get("/keys").text)[0]

    def visitor(name: str, *options: str, factor: bool = True) -> FlaskClient:
        browser = app.test_client()
        person = hosting.add_person(app, name, f"{name}@example.org", PASSWORD, *options)
        hosting.sign_in(browser, person)
        if factor:
            hosting.set_up_app(browser)
        return browser

    old = console_kit.sit_down(app, console_kit.add_administrator(app, "Old", "old@example.org"))
    with app.app_context():
        db.session.execute(
            text(
                "UPDATE idsync_session SET auth_time = auth_time - :age WHERE account_key ="
                " (SELECT id FROM person WHERE name = 'Old')"
            ),
            {"age": RECENT + 1},
        )
        db.session.commit()
    visitors = {
        "nobody": app.test_client(),
        "no attribute": visitor("plain"),
        "only a tag": visitor("tagged", "--tag", "администратор"),
        "no second factor": visitor("weak", "--administrator", factor=False),
        "an old sign-in": old.browser,
    }
    values = {"person_id": victim.id, "client_id": application.client_id, "kid": kid}
    yield Place(app, values, desk, visitors)
    hosting.close_host(app)


EXPECTED = {
    "nobody": 303,
    "no attribute": 403,
    "only a tag": 403,
    "no second factor": 403,
    "an old sign-in": 303,
}


def test_the_url_map_has_the_console() -> None:
    """All of it in its own blueprint, whose check nothing passes by."""
    assert len(ROUTES) > 30
    assert all(rule.endpoint.startswith(ENDPOINT) for rule in RULES)


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
@pytest.mark.parametrize("who", EXPECTED)
def test_refused(place: Place, route: tuple[str, str], who: str) -> None:
    """And nothing has changed afterwards."""
    before = place.state()
    answer = place.call(place.visitors[who], route)
    assert answer.status_code == EXPECTED[who], answer.text
    if answer.status_code == 303:
        assert answer.headers["Location"].startswith("/sign-in?next=/administration")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Omar" not in answer.text
    assert place.state() == before


@pytest.mark.parametrize("route", CHANGES, ids=" ".join)
def test_a_forged_form_changes_nothing(place: Place, route: tuple[str, str]) -> None:
    """Without the token, with another browser's, or, over https, from another site."""
    before = place.state()
    other = token(place.visitors["no attribute"])
    forged = (
        {"fields": {"csrf_token": ""}},
        {"fields": {"csrf_token": other}},
        {"base_url": "https://localhost", "headers": {"Referer": "https://evil.example/"}},
        {"base_url": "https://localhost", "headers": {}},
    )
    for options in forged:
        answer = place.call(place.desk.browser, route, **options)
        assert answer.status_code == 400, options
    assert place.state() == before


@pytest.mark.parametrize("route", [route for route in ROUTES if route[0] == "GET"], ids=" ".join)
def test_an_administrator_is_let_in_and_a_get_changes_nothing(
    place: Place, route: tuple[str, str]
) -> None:
    """Every page protects itself like the others, and is kept nowhere."""
    before = place.state()
    answer = place.call(place.desk.browser, route)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    if answer.mimetype == "text/html":
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "script-src" not in answer.headers["Content-Security-Policy"]
        assert not re.search(r"<script|\son\w+=|\sstyle=|javascript:", answer.text)
    assert place.state() == before


def test_a_change_needs_no_more_than_what_is_forged_above(place: Place) -> None:
    """So that what was refused above was refused for the reason named."""
    rule = ("POST", f"{console_kit.CONSOLE}/people/@<person_id>/disable")
    assert rule in ROUTES
    before = place.state()
    assert place.call(place.desk.browser, rule).status_code == 303
    assert place.state() != before


def test_the_setting_lets_a_password_alone_in(database_url: str) -> None:
    """HOST_CONSOLE_SECOND_FACTOR; the attribute is asked for all the same."""
    app = hosting.make_host(database_url, HOST_CONSOLE_SECOND_FACTOR=False)
    browser, other = app.test_client(), app.test_client()
    hosting.sign_in(browser, console_kit.add_administrator(app))
    hosting.sign_in(other, hosting.add_person(app, "Omar", "omar@example.org", PASSWORD))
    assert browser.get("/administration").status_code == 200
    assert other.get("/administration").status_code == 403
    hosting.close_host(app)


@pytest.mark.parametrize("value", ["false", "no", 0, None])
def test_a_setting_that_is_neither_is_refused(value: object) -> None:
    """The text "false" would be taken for true."""
    with pytest.raises(ConfigurationError, match="HOST_CONSOLE_SECOND_FACTOR"):
        create_app(hosting.configuration("sqlite://", HOST_CONSOLE_SECOND_FACTOR=value))


def test_losing_the_attribute_ends_it_at_once(app: Flask) -> None:
    """The next request asks again; so does one after being disabled."""
    desk = console_kit.sit_down(app)
    assert desk.get().status_code == 200
    hosting.run(app, "idsync", "account", "edit", desk.person.id, "--no-administrator")
    assert desk.get().status_code == 403
    with app.app_context():
        assert identity.directory.find(desk.person.id) is not None


def test_an_old_sign_in_leads_back_to_the_page(app: Flask) -> None:
    """After signing in again; the page says why."""
    desk = console_kit.sit_down(app)
    with app.app_context():
        db.session.execute(text("UPDATE idsync_session SET auth_time = auth_time - 1801"))
        db.session.commit()
    answer = desk.get("/people", q="ada")
    assert answer.headers["Location"] == "/sign-in?next=/administration/people?q%3Dada"
    page = desk.browser.get(answer.headers["Location"]).text
    assert "half an hour" in page
    answer = hosting.sign_in(desk.browser, desk.person, address=answer.headers["Location"])
    assert "second-factor" in answer.headers["Location"]
