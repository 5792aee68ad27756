"""People in the console: found, made, changed, disabled, erased."""

import json
import re
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import text

import console_kit
import hosting
from console_kit import Desk, add_administrator
from host_app.models import db, identity
from idsync.audit.events import COMMAND


@pytest.fixture
def omar(app: Flask) -> hosting.Person:
    return hosting.add_person(app, "Omar Khayyam", "omar@example.org", "old password", "--tag", "x")


def page_of(person: hosting.Person) -> str:
    return f"/people/@{person.id}"


def last_event(app: Flask, kind: str) -> Any:
    with app.app_context():
        statement = "SELECT * FROM idsync_event WHERE kind = :kind ORDER BY id DESC LIMIT 1"
        return db.session.execute(text(statement), {"kind": kind}).one()


# --- finding --------------------------------------------------------------------------------------


@pytest.mark.parametrize("typed", ["omar", "OMAR KH", "omar@", "id"])
def test_people_are_found_by_the_beginning(desk: Desk, omar: hosting.Person, typed: str) -> None:
    """Of the name, the e-mail address or the id."""
    found = desk.text("/people", q=omar.id[:12] if typed == "id" else typed)
    assert "Omar Khayyam" in found
    assert "Ada Lovelace" not in found
    assert "Nobody was found" in desk.text("/people", q="mar")


def test_people_are_found_by_tag(desk: Desk, omar: hosting.Person) -> None:
    assert "Omar" in desk.text("/people", tag="x")
    assert "Nobody was found" in desk.text("/people", tag="y")
    assert "Nobody was found" in desk.text("/people", tag="x", q="ada")


def test_pages_follow_one_another(app: Flask, desk: Desk) -> None:
    """Each person once; the search goes on with them; a page that is none is refused."""
    with app.app_context():
        for number in range(120):
            identity.directory.add(actor=COMMAND, name=f"Person {number:03}")
        db.session.commit()
    seen: list[str] = []
    address = "/administration/people?q=person"
    while address:
        page = desk.browser.get(address).text
        seen += re.findall(r"Person \d+", page)
        following = re.search(r'rel="next" href="([^"]+)"', page)
        address = following[1].replace("&amp;", "&") if following else ""
    assert seen == [f"Person {number:03}" for number in range(120)]
    assert desk.get("/people", after="garbage").status_code == 400


def test_somebody_who_is_not_there_is_not_found(desk: Desk) -> None:
    assert desk.get("/people/@nobody").status_code == 404
    assert desk.get("/people/@nobody/edit").status_code == 404
    for odd in ("nobody", "%00", "a%2Fb", "x" * 65, "%D1%8F", "%ED%A0%80"):
        assert desk.get(f"/people/@{odd}").status_code in (400, 404)
        for action in ("disable", "enable", "sign-out", "tags/add", "tags/remove", "edit"):
            answer = desk.post(f"/people/@{odd}/{action}", tag="x", name="X")
            assert answer.status_code in (400, 404), (odd, action)


# --- making and changing --------------------------------------------------------------------------


def test_an_account_is_made_and_signs_in(app: Flask, desk: Desk) -> None:
    """With the administrator as the actor, and the address."""
    answer = desk.fill_in(
        "/people/new",
        name="Grace Hopper",
        email="grace@example.org",
        tags="wiki, наставник",
        password="a good password",
        id="grace",
    )
    assert answer.headers["Location"] == "/administration/people/@grace"
    page = desk.text("/people/@grace")
    assert "Grace Hopper" in page
    assert "teacher" in page
    person = hosting.Person("grace", "Grace", "grace@example.org", "a good password")
    assert hosting.sign_in(app.test_client(), person).status_code == 303
    event = last_event(app, "account created")
    assert (event.actor_kind, event.actor, event.address) == (
        *("person", desk.person.id),
        "127.0.0.1",
    )


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "", "Please enter a name."),
        ("name", "x" * 201, "longer than 200 characters"),
        ("email", "nonsense", "not an e-mail address"),
        ("email", "OMAR@example.org", "taken by another account"),
        ("phone", "030", "a number with its country code is needed"),
        ("id", "a/b", "1 to 64 characters"),
        ("tags", "x" * 65, "longer than 64 characters"),
        ("password", "short", "at least 8 characters"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    desk: Desk, omar: hosting.Person, field: str, value: str, said: str
) -> None:
    """And nothing is made."""
    answer = desk.fill_in("/people/new", **{"name": "Grace", field: value})
    assert answer.status_code == 422
    group = next(part for part in answer.text.split('class="mb-3') if f'name="{field}"' in part)
    assert said in group
    assert "Grace" not in desk.text("/people")


def test_a_change_is_made(app: Flask, desk: Desk, omar: hosting.Person) -> None:
    """Only what differs is told."""
    answer = desk.fill_in(f"{page_of(omar)}/edit", name="Omar K.", phone="+4930123456")
    assert answer.status_code == 303, answer.text
    page = desk.text(page_of(omar))
    assert "Omar K." in page
    assert "+4930123456" in page
    details = last_event(app, "account changed").details
    details = json.loads(details) if isinstance(details, str) else details
    assert details == {"fields": ["name", "phone"]}


def test_a_new_password_ends_the_sessions(app: Flask, desk: Desk, omar: hosting.Person) -> None:
    browser = app.test_client()
    hosting.sign_in(browser, omar)
    desk.fill_in(f"{page_of(omar)}/edit", password="a new password")
    assert "You are signed in" not in browser.get("/").text
    assert hosting.sign_in(browser, omar).status_code == 422
    assert hosting.sign_in(browser, omar, password="a new password").status_code == 303


def test_what_somebody_else_changed_meanwhile_is_not_overwritten(
    app: Flask, desk: Desk, omar: hosting.Person
) -> None:
    """The form is shown anew, with what is there now."""
    page = desk.get(f"{page_of(omar)}/edit")
    version = re.search(r'name="version"[^>]*value="([^"]+)"', page.text)
    assert version
    hosting.run(app, "idsync", "account", "edit", omar.id, "--email", "new@example.org")
    said = desk.done(f"{page_of(omar)}/edit", name="Omar K.", email=omar.email, version=version[1])
    assert "somebody else changed this person" in said
    page = desk.text(page_of(omar))
    assert "new@example.org" in page
    assert "Omar K." not in page


def test_a_phone_number_taken_away_meanwhile_does_not_come_back(
    app: Flask, desk: Desk, omar: hosting.Person
) -> None:
    """It signs in; services do not see it, so it does not count in the revision."""
    hosting.run(app, "idsync", "account", "edit", omar.id, "--phone", "+4930123456")
    fields = console_kit.filled_in(desk.get(f"{page_of(omar)}/edit").text)
    hosting.run(app, "idsync", "account", "edit", omar.id, "--phone", "+4930999999")
    said = desk.done(f"{page_of(omar)}/edit", **{**fields, "name": "Omar K."})
    assert "somebody else changed this person" in said
    assert "+4930999999" in desk.text(page_of(omar))


def test_tags_come_and_go(desk: Desk, omar: hosting.Person) -> None:
    assert "наставник" in desk.done(f"{page_of(omar)}/tags/add", tag=" наставник ")
    assert "teacher" in desk.text(page_of(omar))
    assert "longer than 64" in desk.done(f"{page_of(omar)}/tags/add", tag="x" * 65)
    assert "Please enter a tag" in desk.done(f"{page_of(omar)}/tags/add", tag="")
    assert "teacher" not in desk.done(f"{page_of(omar)}/tags/remove", tag="наставник")


def test_disabled_and_enabled_again(app: Flask, desk: Desk, omar: hosting.Person) -> None:
    """At once; a service cannot undo it."""
    browser = app.test_client()
    hosting.sign_in(browser, omar)
    assert "An administrator disabled this account" in desk.done(f"{page_of(omar)}/disable")
    assert "You are signed in" not in browser.get("/").text
    assert hosting.sign_in(browser, omar).status_code == 422
    assert "An administrator disabled" not in desk.done(f"{page_of(omar)}/enable")
    assert hosting.sign_in(browser, omar).status_code == 303


def test_signed_out_everywhere(app: Flask, desk: Desk, omar: hosting.Person) -> None:
    browser = app.test_client()
    hosting.sign_in(browser, omar)
    assert "is signed out" in desk.done(f"{page_of(omar)}/sign-out")
    assert "You are signed in" not in browser.get("/").text


def test_lost_second_factors_are_taken_away(app: Flask, desk: Desk, omar: hosting.Person) -> None:
    """After a page that asks; then the password alone signs in."""
    browser = app.test_client()
    hosting.sign_in(browser, omar)
    hosting.set_up_app(browser)
    assert "Take the second factors away" in desk.text(page_of(omar))
    assert "Make sure" in desk.text(f"{page_of(omar)}/reset-factors")
    assert "no second factor any more" in desk.done(f"{page_of(omar)}/reset-factors")
    assert hosting.sign_in(browser, omar).headers["Location"] == "/"
    assert last_event(app, "second factors reset").actor == desk.person.id


# --- erasing and the last administrator -----------------------------------------------------------


def test_erasing_asks_for_the_id(app: Flask, desk: Desk, omar: hosting.Person) -> None:
    """Typed exactly; what is left tells when, and the id stays taken."""
    for typed in ("", omar.id.upper() + "x", omar.email):
        answer = desk.fill_in(f"{page_of(omar)}/erase", typed=typed)
        assert answer.status_code == 422
        assert "not the id" in answer.text
    assert "Omar" in desk.text("/people")
    assert "Erased at" in desk.done(f"{page_of(omar)}/erase", typed=omar.id)
    assert "Omar" not in desk.text("/people")
    assert desk.get(f"{page_of(omar)}/edit").status_code == 404
    again = desk.fill_in("/people/new", name="Omar", id=omar.id)
    assert "taken by another account" in again.text


def test_the_last_administrator_stays(app: Flask, desk: Desk) -> None:
    """Whatever they try; with a second one, all of it works."""
    own = page_of(desk.person)
    assert "the only administrator" in desk.done(f"{own}/disable")
    answer = desk.fill_in(f"{own}/edit", administrator=[])
    assert answer.status_code == 422
    assert "the only administrator" in answer.text
    answer = desk.fill_in(f"{own}/erase", typed=desk.person.id)
    assert "the only administrator" in answer.text
    assert desk.get().status_code == 200
    add_administrator(app, "Grace", "grace@example.org")
    assert desk.fill_in(f"{own}/edit", administrator=[]).status_code == 303
    assert desk.get().status_code == 403


def test_a_person_made_administrator_may_come_in(app: Flask, desk: Desk) -> None:
    omar = hosting.add_person(app, "Omar", "omar@example.org", "pass word")
    desk.fill_in(f"{page_of(omar)}/edit", administrator="y")
    browser = app.test_client()
    hosting.sign_in(browser, omar)
    hosting.set_up_app(browser)
    assert browser.get("/administration").status_code == 200
    assert "Administration" in browser.get("/").text


def test_the_start_page_shows_the_way_to_administrators_only(app: Flask, desk: Desk) -> None:
    omar = hosting.add_person(
        app, "Omar", "omar@example.org", "pass word", "--tag", "администратор"
    )
    browser = app.test_client()
    hosting.sign_in(browser, omar)
    assert "/administration" in desk.browser.get("/").text
    assert "/administration" not in browser.get("/").text


def test_what_people_call_themselves_is_text(app: Flask, desk: Desk) -> None:
    """In the console above all."""
    eve = hosting.add_person(app, "<script>alert(1)</script>", "eve@example.org", "pass word")
    for path in ("/people", page_of(eve), f"{page_of(eve)}/edit", "/audit"):
        assert "<script>" not in desk.get(path).text
