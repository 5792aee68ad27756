"""The page of recent events: one's own, in words, with addresses only where they are one's own."""

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient

import hosting
from host_app.models import db, identity


def test_the_latest_comes_first(app: Flask, client: FlaskClient, person: hosting.Person) -> None:
    hosting.run(app, "idsync", "account", "edit", person.id, "--phone", "+493012345678")
    page = client.get("/activity").text
    assert page.index("Changed: phone number by an administrator") < page.index("Account created")


def test_other_peoples_events_are_not_shown(
    app: Flask, client: FlaskClient, person: hosting.Person
) -> None:
    eve = hosting.add_person(app, "Eve", "eve@example.org")
    hosting.run(app, "idsync", "account", "reset-factors", eve.id)
    assert "Second factors" not in client.get("/activity").text


@pytest.mark.parametrize(
    ("address", "shown"), [("192.0.2.7", True), ("198.51.100.9", False)], ids=["own", "of another"]
)
def test_where_others_work_from_is_not_shown(
    app: Flask, client: FlaskClient, person: hosting.Person, address: str, shown: bool
) -> None:
    if shown:
        page = client.get("/profile", environ_base={"REMOTE_ADDR": address}).text
        form = {**hosting.hidden_fields(page), "name": "Ada King"}
        client.post("/profile", data=form, environ_base={"REMOTE_ADDR": address})
    else:
        with app.test_request_context(environ_base={"REMOTE_ADDR": address}):
            identity.set_password(identity.find_user(person.email), "brand new words")
            db.session.commit()
        hosting.sign_in(client, person, password="brand new words")
    page = client.get("/activity").text
    assert (address in page) is shown


def test_it_is_for_who_is_signed_in(app: Flask) -> None:
    answer = app.test_client().get("/activity")
    assert answer.headers["Location"].startswith("/sign-in?next=%2Factivity")


def test_older_events_are_a_page_away(
    app: Flask, client: FlaskClient, person: hosting.Person
) -> None:
    """Whoever got in cannot push what they did off the page."""
    for number in range(51):
        hosting.submit(client, "/profile", {"name": f"Ada {number}"})
    page = client.get("/activity").text
    assert "Account created" not in page
    older = re.search(r'href="(/activity\?before=\d+)"', page)
    assert older is not None
    page = client.get(older[1]).text
    assert "Account created" in page
    assert "Older events" not in page
    for odd in ("x", "-1", "0", str(2**70)):
        assert client.get(f"/activity?before={odd}").status_code in (200, 404)
