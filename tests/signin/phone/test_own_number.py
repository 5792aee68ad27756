"""One's own number: it is added, changed and removed by a code sent to it."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

import hosting
from host_app.models import User, identity
from idsync import RecentSignInRequired
from signin.conftest import Clock
from signin.phone.texts import NEW, NOBODYS, PHONE, Texts, ask, enter, wrong


def change(browser: FlaskClient, texts: Texts, phone: str = NEW) -> int:
    hosting.submit(browser, "/security/phone", {"phone": phone})
    return hosting.submit(browser, "/security/phone/code", {"code": texts.code()}).status_code


def test_a_number_is_added_changed_and_removed(
    app: Flask, texts: Texts, client: FlaskClient
) -> None:
    person = hosting.add_person(app)
    hosting.sign_in(client, person)
    assert change(client, texts, PHONE) == 303
    assert f"a code sent to {PHONE}" in client.get("/security").text
    assert change(client, texts) == 303
    browser = app.test_client()
    assert ask(browser) == 303
    assert texts.sent[-1][0] == NEW  # the old number is nobody's now
    ask(browser, NEW)
    assert enter(browser, texts.code()) == 303
    hosting.submit(client, "/security", {}, post_to="/security/phone/remove")
    assert "Add a number" in client.get("/security").text


def test_a_number_needs_the_code_sent_to_it(app: Flask, texts: Texts, client: FlaskClient) -> None:
    """A code asked for to sign in does not count, nor the other way round."""
    person = hosting.add_person(app)
    hosting.sign_in(client, person)
    hosting.submit(client, "/security/phone", {"phone": NEW})
    code = texts.code()
    assert hosting.submit(client, "/security/phone/code", {"code": wrong(code)}).status_code == 422
    assert client.get("/sign-in/phone/code").headers["Location"] == "/sign-in/phone"
    ask(client, NOBODYS)
    assert client.get("/security/phone/code").headers["Location"] == "/security/phone"
    assert "Add a number" in client.get("/security").text


def test_a_number_of_another_account_cannot_be_taken(
    app: Flask, person: hosting.Person, texts: Texts, client: FlaskClient
) -> None:
    """It is said only to whoever holds the phone."""
    grace = hosting.add_person(app, "Grace", "grace@example.org", "compiler")
    hosting.sign_in(client, grace)
    assert hosting.submit(client, "/security/phone", {"phone": PHONE}).status_code == 303
    answer = hosting.submit(client, "/security/phone/code", {"code": texts.code()})
    assert answer.status_code == 422
    assert "belongs to another account" in answer.text


def test_changing_how_one_signs_in_needs_a_recent_sign_in(
    app: Flask, texts: Texts, client: FlaskClient, clock: Clock
) -> None:
    """An unlocked computer is not enough."""
    person = hosting.add_person(app)
    hosting.sign_in(client, person)
    hosting.submit(client, "/security", {}, post_to="/security/app")
    clock.forward(601)
    for path in ("/security/phone", "/security/phone/code", "/security/app/confirm"):
        answer = client.get(path)
        assert answer.headers["Location"].startswith("/sign-in?next=/security/"), path
    token = hosting.hidden_fields(client.get("/security").text)
    for path in ("/security/phone/remove", "/security/app"):
        answer = client.post(path, data=token)
        assert answer.headers["Location"].startswith("/sign-in?next=/security"), path
    page = client.get(answer.headers["Location"])
    assert "Please sign in again" in page.text
    with client:
        client.get("/")
        user = identity.find_user(person.email)
        assert isinstance(user, User)
        with pytest.raises(RecentSignInRequired):
            identity.phone.request_change(user, NEW, "{code}")
    hosting.sign_in(client, person, address="/sign-in?next=/security/phone")
    assert client.get("/security/phone").status_code == 200


def test_what_one_person_began_is_not_for_the_next(
    app: Flask, texts: Texts, client: FlaskClient
) -> None:
    """A number that somebody was about to add is neither shown to nor taken by somebody else."""
    ada = hosting.add_person(app)
    grace = hosting.add_person(app, "Grace", "grace@example.org", "compiler")
    hosting.sign_in(client, ada)
    hosting.submit(client, "/security/phone", {"phone": NEW})
    with client.session_transaction() as kept:
        begun = kept["_idsync_phone"]
    hosting.submit(client, "/", {}, post_to="/sign-out")
    hosting.sign_in(client, grace)
    assert client.get("/security/phone/code").headers["Location"] == "/security/phone"
    with client.session_transaction() as kept:
        kept["_idsync_phone"] = begun
    assert client.get("/security/phone/code").headers["Location"] == "/security/phone"


def test_one_account_sends_only_so_many_messages(
    app: Flask, texts: Texts, client: FlaskClient
) -> None:
    """However many numbers it names."""
    hosting.sign_in(client, hosting.add_person(app))
    for number in range(8):
        hosting.submit(client, "/security/phone", {"phone": f"+4930123456{number}0"})
    assert len(texts.sent) == 5
