"""The link of a forgotten password: it works once, for half an hour, and for its account alone."""

import time
from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

import hosting
from host.conftest import Mailbox
from host.forgotten import NEW, ask, choose

TOO_LATE = "This link does not work any more"


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


def test_a_form_from_elsewhere_is_refused(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    browser = app.test_client()
    ask(browser)
    hosting.follow(browser, browser.get(mailbox.link(1)))
    assert browser.post("/sign-in/new-password", data=NEW).status_code == 400
    assert browser.post("/sign-in/forgotten", data={"email": person.email}).status_code == 400
    assert hosting.sign_in(browser, person).status_code == 303


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


def test_a_link_opened_while_signed_in_ends_with_the_sign_out(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    """Whoever sits down there next finds nothing of it."""
    browser = app.test_client()
    ask(browser)
    hosting.sign_in(browser, person)
    hosting.follow(browser, browser.get(mailbox.link(1)))
    assert browser.get("/sign-in/new-password").status_code == 200
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
