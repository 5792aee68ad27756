"""A forgotten password: a link by mail that works once, for half an hour, and gives nobody away."""

import threading
import time
from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text

import hosting
from host.conftest import Mailbox
from host_app.models import db, identity
from hosting import is_signed_in
from idsync.extension import EXTENSION

NEW = {"new": "a new password", "again": "a new password"}
TOO_LATE = "This link does not work any more"


def ask(browser: FlaskClient, email: str = "ada@example.org", path: str = "") -> None:
    answer = hosting.submit(browser, path or "/sign-in/forgotten", {"email": email})
    assert answer.headers["Location"] == "/sign-in/forgotten/sent"


def choose(browser: FlaskClient, link: str) -> int:
    """Open a link and choose a new password; the answer's status."""
    page = hosting.follow(browser, browser.get(link))
    if page.status_code != 200:
        return page.status_code
    return hosting.submit(browser, "/sign-in/new-password", NEW).status_code


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


def test_a_link_works_once(app: Flask, person: hosting.Person, mailbox: Mailbox) -> None:
    """The other links that were asked for end with it."""
    browser = app.test_client()
    ask(browser)
    ask(browser)
    mailbox.wait_for(2)
    assert choose(browser, mailbox.link(1)) == 303
    assert choose(app.test_client(), mailbox.link(1)) == 410
    assert choose(app.test_client(), mailbox.link(2)) == 410


def test_a_link_works_for_half_an_hour(
    app: Flask, person: hosting.Person, mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = app.test_client()
    ask(browser)
    link, now = mailbox.link(1), time.time()
    monkeypatch.setattr(time, "time", lambda: now + 1801)
    assert choose(browser, link) == 410
    monkeypatch.setattr(time, "time", lambda: now + 1700)
    assert choose(browser, link) == 303


@pytest.mark.parametrize(
    "command",
    [
        ("disable",),
        ("sign-out",),
        ("erase", "--yes"),
        ("edit", "--email", "other@example.org"),
        ("edit", "--password-stdin"),
    ],
)
def test_what_happens_meanwhile_ends_a_link(
    app: Flask, person: hosting.Person, mailbox: Mailbox, command: tuple[str, ...]
) -> None:
    """Also where the page that asks for the password is open already."""
    browser = app.test_client()
    ask(browser)
    hosting.follow(browser, browser.get(mailbox.link(1)))
    page = browser.get("/sign-in/new-password").text
    name, *options = command
    hosting.run(app, "idsync", "account", name, person.id, *options, input="brand new words\n")
    answer = browser.post("/sign-in/new-password", data={**hosting.hidden_fields(page), **NEW})
    assert answer.status_code == 410
    assert TOO_LATE in answer.text


def test_a_password_that_is_too_short_is_refused_and_the_link_stays(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    browser = app.test_client()
    ask(browser)
    hosting.follow(browser, browser.get(mailbox.link(1)))
    short = {"new": "short", "again": "short"}
    answer = hosting.submit(browser, "/sign-in/new-password", short)
    assert answer.status_code == 422
    assert "at least 8 characters" in answer.text
    assert hosting.submit(browser, "/sign-in/new-password", NEW).status_code == 303


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


def test_a_link_never_follows_the_host_header(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    """A stranger could ask for somebody else's link to a site of theirs."""
    browser = app.test_client()
    page = browser.get("/sign-in/forgotten", headers={"Host": "evil.example"}).text
    form = {**hosting.hidden_fields(page), "email": person.email}
    answer = browser.post(
        "/sign-in/forgotten",
        data=form,
        headers={"Host": "evil.example", "X-Forwarded-Host": "evil.example"},
    )
    assert answer.status_code == 303
    assert mailbox.link(1).startswith("/sign-in/new-password/")
    assert "evil" not in str(mailbox.mails)


@pytest.mark.parametrize(
    "change",
    [
        # Not the last letter alone: in Base64 several of those may stand for the same bytes.
        lambda link: link[:-10] + link[-10:].swapcase(),
        lambda link: link + "x",
    ],
)
def test_a_link_that_was_changed_is_none(
    app: Flask, person: hosting.Person, mailbox: Mailbox, change: Callable[[str], str]
) -> None:
    browser = app.test_client()
    ask(browser)
    assert choose(browser, change(mailbox.link(1))) == 410


def test_another_link_is_never_the_one_opened_before(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    """Two accounts' links in one browser: the page is that of the link just opened, or of none."""
    browser = app.test_client()
    ask(browser)
    hosting.follow(browser, browser.get(mailbox.link(1)))
    assert hosting.follow(browser, browser.get(mailbox.link(1) + "x")).status_code == 410


def test_a_link_for_an_address_is_none_for_a_password(
    app: Flask, client: FlaskClient, person: hosting.Person, mailbox: Mailbox
) -> None:
    """What confirms an address changes no password."""
    hosting.submit(client, "/profile/email", {"email": "new@example.org"})
    link = mailbox.link(1).rpartition("/")[2]
    assert choose(app.test_client(), f"/sign-in/new-password/{link}") == 410


def test_the_link_is_not_in_the_address_of_the_page(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    """Histories and referrers keep addresses."""
    browser = app.test_client()
    ask(browser)
    page = hosting.follow(browser, browser.get(mailbox.link(1)))
    assert page.request.path == "/sign-in/new-password"
    assert person.email in page.text
    assert mailbox.link(1).rpartition("/")[2] not in page.text


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


def test_a_form_from_elsewhere_is_refused(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    browser = app.test_client()
    ask(browser)
    hosting.follow(browser, browser.get(mailbox.link(1)))
    assert browser.post("/sign-in/new-password", data=NEW).status_code == 400
    assert browser.post("/sign-in/forgotten", data={"email": person.email}).status_code == 400
    assert hosting.sign_in(browser, person).status_code == 303


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


def test_an_opened_link_is_not_for_who_uses_the_browser_next(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    """Its owner remembered the password after all, signed in with it, and out."""
    browser = app.test_client()
    ask(browser, path="/sign-in/forgotten?next=/applications")
    hosting.follow(browser, browser.get(mailbox.link(1)))
    hosting.sign_in(browser, person, address="/sign-in?next=/")
    assert browser.get("/sign-in/new-password").status_code == 410
    hosting.submit(browser, "/", {}, post_to="/sign-out")
    assert browser.get("/sign-in/new-password").status_code == 410


def test_a_page_of_one_link_sets_no_password_by_another(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    """A site that knows of the open page could lead the browser to a link of its own account."""
    eve = hosting.add_person(app, "Eve", "eve@example.org", "another horse")
    browser = app.test_client()
    ask(browser, person.email)
    own = mailbox.link(1)
    ask(browser, eve.email)
    foreign = mailbox.link(2)
    hosting.follow(browser, browser.get(own))
    page = browser.get("/sign-in/new-password").text
    browser.get(foreign)
    answer = browser.post("/sign-in/new-password", data={**hosting.hidden_fields(page), **NEW})
    assert answer.headers["Location"] == "/sign-in/new-password"
    assert eve.email in browser.get("/sign-in/new-password").text
    assert hosting.sign_in(app.test_client(), eve).status_code == 303


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
