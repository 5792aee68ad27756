"""A forgotten password: who is sent a link by mail, and an answer that gives nobody away."""

import threading
import time

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text

import hosting
from host.conftest import Mailbox
from host.forgotten import NEW, ask, choose
from host_app.models import db, identity
from hosting import is_signed_in
from idsync.extension import EXTENSION


def test_a_link_sets_a_new_password_and_ends_what_was(
    app: Flask, client: FlaskClient, person: hosting.Person, mailbox: Mailbox
) -> None:
    """It signs nobody in, and the address counts as confirmed."""
    browser = app.test_client()
    ask(browser)
    assert mailbox.wait_for(1)[0] == person.email
    assert choose(browser, mailbox.link(1)) == 303
    assert not is_signed_in(browser)
    assert not is_signed_in(client)
    assert hosting.sign_in(browser, person).status_code == 422
    assert hosting.sign_in(browser, person, password=NEW["new"]).status_code == 303
    assert "Confirmed." in browser.get("/profile").text


def test_the_owner_is_told(app: Flask, person: hosting.Person, mailbox: Mailbox) -> None:
    browser = app.test_client()
    ask(browser)
    choose(browser, mailbox.link(1))
    address, _, said = mailbox.wait_for(2)
    assert address == person.email
    assert "Your password was changed." in said


@pytest.mark.parametrize(
    "email",
    ["ada@example.org", "nobody@example.org", "disabled@example.org", "no address", "a" * 254],
)
def test_the_answer_tells_nobody_who_has_an_account(
    app: Flask, client: FlaskClient, person: hosting.Person, mailbox: Mailbox, email: str
) -> None:
    """Only one of these is sent a link."""
    disabled = hosting.add_person(app, "Dan", "disabled@example.org")
    hosting.run(app, "idsync", "account", "disable", disabled.id)
    browser = app.test_client()
    answer = hosting.submit(browser, "/sign-in/forgotten", {"email": email})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/sign-in/forgotten/sent")
    page = browser.get("/sign-in/forgotten/sent").text
    assert email not in page
    ask(browser, "ada@example.org")
    hosting.send_messages(app)
    assert {mail[0] for mail in mailbox.mails} == {"ada@example.org"}


def test_a_second_factor_is_still_asked_for(
    app: Flask, client: FlaskClient, person: hosting.Person, mailbox: Mailbox
) -> None:
    """Who reads somebody's mail has one factor."""
    made = hosting.set_up_app(client)
    browser = app.test_client()
    mailbox.wait_for(1)  # tells of the app; mails of one moment come in any order
    ask(browser)
    assert choose(browser, mailbox.link(2)) == 303
    hosting.sign_in(browser, person, password=NEW["new"])
    assert not is_signed_in(browser)
    hosting.submit(browser, "/sign-in/second-factor", {"code": made.code()})
    assert is_signed_in(browser)


def test_who_came_from_an_application_goes_on_to_it(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    browser = app.test_client()
    application = hosting.register_application(app)
    page = hosting.follow(browser, browser.get(hosting.authorize_path(application)))
    destination = page.request.full_path.replace("/sign-in", "/sign-in/forgotten", 1)
    ask(browser, path=destination)
    hosting.follow(browser, browser.get(mailbox.link(1)))
    answer = hosting.submit(browser, "/sign-in/new-password", NEW)
    signed_in = hosting.sign_in(
        browser, person, password=NEW["new"], address=answer.headers["Location"]
    )
    assert 'name="decision"' in hosting.follow(browser, signed_in).text


def test_an_address_is_sent_five_links_then_one_each_twelve_minutes(
    app: Flask, person: hosting.Person, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address that is nobody's runs into the same limit."""
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    for email in (person.email, "nobody@example.org"):
        browser = app.test_client()
        for _ in range(5):
            ask(browser, email)
        answer = hosting.submit(browser, "/sign-in/forgotten", {"email": email.upper()})
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "720")
    monkeypatch.setattr(time, "time", lambda: now + 721)
    ask(browser)


def test_an_address_of_two_accounts_is_the_one_of_who_signs_in_by_it(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    """The link names the account; one that got the same address by raw SQL keeps its password."""
    other = hosting.add_person(app, "Eve", "eve@example.org", "another horse")
    with app.app_context():
        db.session.execute(text("UPDATE person SET email = 'ADA@example.org' WHERE name = 'Eve'"))
        db.session.commit()
    browser = app.test_client()
    ask(browser)
    assert choose(browser, mailbox.link(1)) == 303
    with app.app_context():
        eve = identity.directory.find(other.id)
        assert eve is not None
        assert identity.check_password(identity.directory.user_by_key(eve.key), "another horse")


def test_a_new_password_may_be_tried_at_once(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    """Whoever used up their tries asks for a link, and is not told to wait then."""
    browser = app.test_client()
    for _ in range(10):
        hosting.sign_in(browser, person, password="wrong")
    assert hosting.sign_in(browser, person).status_code == 429
    ask(browser)
    choose(browser, mailbox.link(1))
    assert hosting.sign_in(browser, person, password=NEW["new"]).status_code == 303


def test_the_answer_waits_for_nothing_that_an_account_decides(
    app: Flask, person: hosting.Person, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who it is, the link and the mail are looked up, made and sent beside the request."""
    seen: list[str] = []
    with app.app_context():
        directory = identity.directory
        original = directory.find_by_email
    monkeypatch.setattr(
        directory,
        "find_by_email",
        lambda email: seen.append(threading.current_thread().name) or original(email),
    )
    ask(app.test_client())
    mailbox.wait_for(1)
    assert [name.startswith("idsync-messages") for name in seen] == [True]


def test_no_transaction_waits_for_a_mail_server(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    """It would keep a connection, and on SQLite old pages of the database, for minutes."""
    waiting: list[bool] = []
    app.extensions[EXTENSION].sign_in.email._send_mail = lambda *mail: waiting.append(
        db.session().in_transaction()
    )
    ask(app.test_client())
    hosting.run(app, "idsync", "account", "reset-factors", person.id)
    hosting.send_messages(app)
    assert waiting == [False, False]
