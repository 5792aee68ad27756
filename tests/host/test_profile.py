"""One's own name and e-mail address, by the pages."""

import time

import pytest
from flask import Flask
from flask.testing import FlaskClient

import hosting
from host.conftest import Mailbox
from host_app.models import db, identity
from idsync import InvalidValue

NEW = "new@example.org"


def ask(browser: FlaskClient, email: str = NEW) -> None:
    answer = hosting.submit(browser, "/profile/email", {"email": email})
    assert answer.headers["Location"] == "/profile"


def test_a_name_is_changed(client: FlaskClient, person: hosting.Person) -> None:
    answer = hosting.submit(client, "/profile", {"name": " Ada King "})
    assert answer.status_code == 303
    assert "Ada King" in client.get("/").text


@pytest.mark.parametrize("name", ["", "   ", "x" * 201, "Ada\u202egnol"])
def test_what_is_no_name_is_refused(client: FlaskClient, person: hosting.Person, name: str) -> None:
    answer = hosting.submit(client, "/profile", {"name": name})
    assert answer.status_code == 422
    assert "Ada Lovelace" in client.get("/").text


def test_an_address_counts_when_its_owner_opened_the_link(
    app: Flask, client: FlaskClient, person: hosting.Person, mailbox: Mailbox
) -> None:
    """A button, because programs open links too; then the old address is told."""
    ask(client)
    assert mailbox.wait_for(1)[0] == NEW
    link = mailbox.link(1)
    assert "Not confirmed yet." in client.get("/profile").text
    assert client.get(link).status_code == 200
    assert person.email in client.get("/profile").text
    assert hosting.submit(client, link, {}).headers["Location"] == "/profile"
    page = client.get("/profile").text
    assert NEW in page
    assert "Confirmed." in page
    other = app.test_client()
    moved = hosting.Person(person.id, person.name, NEW, person.password)
    assert hosting.sign_in(other, moved).status_code == 303
    mailbox.wait_for(3)
    told = {address for address, subject, _ in mailbox.mails if "security" in subject}
    assert told == {person.email, NEW}


def test_the_link_again_changes_nothing(
    client: FlaskClient, person: hosting.Person, mailbox: Mailbox
) -> None:
    ask(client)
    for _ in range(2):
        assert hosting.submit(client, mailbox.link(1), {}).status_code == 303
    assert NEW in client.get("/profile").text


def test_the_link_is_nothing_to_who_only_reads_the_mail(
    app: Flask, client: FlaskClient, person: hosting.Person, mailbox: Mailbox
) -> None:
    """Somebody may have mistyped their address; it must not become the key to their account."""
    ask(client)
    link = mailbox.link(1)
    stranger = app.test_client()
    assert "/sign-in?next=" in stranger.get(link).headers["Location"]
    eve = hosting.add_person(app, "Eve", "eve@example.org")
    hosting.sign_in(stranger, eve)
    assert stranger.get(link).status_code == 410
    token = hosting.hidden_fields(stranger.get("/profile").text)
    assert stranger.post(link, data=token).status_code == 410
    assert f'<bdi class="idsync-name">{person.email}' in client.get("/profile").text


def test_an_address_of_somebody_else_gets_no_mail(
    app: Flask, client: FlaskClient, person: hosting.Person, mailbox: Mailbox
) -> None:
    """And who asked cannot tell."""
    hosting.add_person(app, "Eve", "eve@example.org")
    ask(client, "EVE@example.org")
    ask(client)
    hosting.send_messages(app)
    assert [mail[0] for mail in mailbox.mails] == [NEW]


def test_an_address_taken_meanwhile_stays_the_others(
    app: Flask, client: FlaskClient, person: hosting.Person, mailbox: Mailbox
) -> None:
    ask(client)
    hosting.add_person(app, "Eve", NEW)
    answer = hosting.submit(client, mailbox.link(1), {})
    assert answer.status_code == 422
    assert "belongs to another account" in answer.text
    assert person.email in client.get("/profile").text


@pytest.mark.parametrize("seconds", [1801, 100_000])
def test_a_link_is_good_for_half_an_hour(
    client: FlaskClient,
    person: hosting.Person,
    mailbox: Mailbox,
    seconds: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ask(client)
    link, later = mailbox.link(1), time.time() + seconds
    monkeypatch.setattr(time, "time", lambda: later)
    assert client.get(link).status_code == 410


def test_a_new_password_ends_the_links(
    app: Flask, client: FlaskClient, person: hosting.Person, mailbox: Mailbox
) -> None:
    """Whoever asked for a link with a stolen session cannot use it any more."""
    ask(client)
    link = mailbox.link(1)
    new = {"new": "a new password", "again": "a new password"}
    hosting.submit(client, "/security/password", new)
    assert client.get(link).status_code == 410


def test_asking_needs_a_sign_in_of_the_last_minutes(
    client: FlaskClient, person: hosting.Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = time.time() + 601
    monkeypatch.setattr(time, "time", lambda: later)
    answer = client.get("/profile/email")
    assert answer.headers["Location"].startswith("/sign-in?next=/profile/email")


@pytest.mark.parametrize("email", ["", "nobody", "a@b", "a b@example.org", "x" * 255])
def test_what_is_no_address_is_refused(
    app: Flask, client: FlaskClient, person: hosting.Person, mailbox: Mailbox, email: str
) -> None:
    answer = hosting.submit(client, "/profile/email", {"email": email})
    assert answer.status_code == 422
    hosting.send_messages(app)
    assert mailbox.mails == []


def test_where_no_mail_is_sent_the_address_is_an_administrators_matter(
    database_url: str,
) -> None:
    """The address is shown, and there is no page to change it."""
    url = "https://id.example.org"
    app = hosting.make_host(database_url, IDSYNC_ISSUER=url)
    try:
        browser, person = app.test_client(), hosting.add_person(app)
        page = browser.get("/sign-in", base_url=url).text
        form = {**hosting.hidden_fields(page), "email": person.email, "password": person.password}
        referrer = {"Referer": f"{url}/sign-in"}
        browser.post("/sign-in", data=form, base_url=url, headers=referrer)
        page = browser.get("/profile", base_url=url).text
        assert person.email in page
        assert "An administrator can change it." in page
        assert browser.get("/profile/email", base_url=url).status_code == 404
    finally:
        hosting.close_host(app)


@pytest.mark.parametrize("used", [True, False], ids=["used", "not used"])
def test_what_an_administrator_changes_ends_the_links(
    app: Flask, client: FlaskClient, person: hosting.Person, mailbox: Mailbox, used: bool
) -> None:
    """A thief's link does not take the address back that an administrator has corrected."""
    ask(client)
    link = mailbox.link(1)
    if used:
        hosting.submit(client, link, {})
    time.sleep(1.1)  # changes are told apart by the second
    corrected = person.email if used else "corrected@example.org"
    hosting.run(app, "idsync", "account", "edit", person.id, "--email", corrected)
    assert client.get(link).status_code == 410
    token = hosting.hidden_fields(client.get("/profile").text)
    assert client.post(link, data=token).status_code == 410
    assert corrected in client.get("/profile").text


def test_nobody_uses_up_the_mails_of_another_address(
    app: Flask, client: FlaskClient, person: hosting.Person, mailbox: Mailbox
) -> None:
    """Not by asking for it as one's own, however often."""
    eve = hosting.add_person(app, "Eve", "eve@example.org")
    answers = [
        hosting.submit(client, "/profile/email", {"email": eve.email}).status_code for _ in range(7)
    ]
    assert answers == [303] * 5 + [429] * 2
    hosting.submit(app.test_client(), "/sign-in/forgotten", {"email": eve.email})
    hosting.send_messages(app)
    assert [mail[0] for mail in mailbox.mails] == [eve.email]


def test_a_taken_address_leaves_nothing_locked(
    app: Flask, client: FlaskClient, person: hosting.Person, mailbox: Mailbox
) -> None:
    """While the page that says so is made, others go on."""
    ask(client)
    hosting.add_person(app, "Eve", NEW)
    with app.test_request_context():
        user = identity.find_user(person.email)
        link = mailbox.link(1).rpartition("/")[2]
        with pytest.raises(InvalidValue):
            identity.email.confirm(user, link)
        assert not db.session().in_transaction()
