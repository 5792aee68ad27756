"""Whatever changes how somebody signs in, they are told of it by mail, in their language."""

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

import hosting
from account_api.calling import ACCOUNTS, Service
from host.conftest import Mailbox
from host_app.models import User, db, identity
from idsync import signals
from idsync.extension import EXTENSION

COMMANDS = [
    (("edit", "--password-stdin"), "Your password was changed."),
    (("edit", "--phone", "+493012345678"), "The phone number of your account was changed."),
    (("edit", "--email", "new@example.org"), "The e-mail address of your account was changed."),
    (("reset-factors",), "All second factors of your account were removed."),
]


@pytest.mark.parametrize(("command", "sentence"), COMMANDS)
def test_what_an_administrator_changes_is_told(
    app: Flask,
    person: hosting.Person,
    mailbox: Mailbox,
    command: tuple[str, ...],
    sentence: str,
) -> None:
    name, *options = command
    hosting.run(app, "idsync", "account", name, person.id, *options, input="brand new words\n")
    _, subject, text = mailbox.wait_for(1)
    assert subject == "The security of your account"
    assert sentence in text
    assert text.startswith("Hello Ada Lovelace,")
    assert "http://localhost" in text
    hosting.send_messages(app)
    expected = {person.email, "new@example.org"} if "--email" in command else {person.email}
    assert {mail[0] for mail in mailbox.mails} == expected


def test_what_a_service_changes_is_told(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    """A name or a tag is no matter of security."""
    service = Service(app, hosting.register_application(app, "Service", "--accounts"))
    for change in ({"name": "Ada King", "tags_add": ["student"]}, {"email": "new@example.org"}):
        answer = service.call("POST", f"{ACCOUNTS}/{person.id}", json=change)
        assert answer.status_code == 200, answer.text
    hosting.send_messages(app)
    assert {mail[0] for mail in mailbox.mails} == {person.email, "new@example.org"}
    assert len(mailbox.mails) == 2


def test_what_the_person_changes_is_told(
    app: Flask, client: FlaskClient, person: hosting.Person, mailbox: Mailbox
) -> None:
    """It may have been somebody else at their browser."""
    hosting.set_up_app(client)
    assert "An authenticator app was set up" in mailbox.wait_for(1)[2]


def test_a_notice_is_in_the_language_of_the_last_sign_in(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    browser = app.test_client()
    page = browser.get("/sign-in").text
    form = {**hosting.hidden_fields(page), "email": person.email, "password": person.password}
    browser.post("/sign-in", data=form, headers={"Accept-Language": "ru"})
    hosting.run(app, "idsync", "account", "reset-factors", person.id)
    assert mailbox.wait_for(1)[2].startswith("Здравствуйте, Ada Lovelace!")


def test_an_application_does_not_choose_the_language_of_the_mail(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    """What it asks for is for the pages on the way to it."""
    browser, application = app.test_client(), hosting.register_application(app)
    path = hosting.authorize_path(application, ui_locales="ru")
    page = hosting.follow(browser, browser.get(path))
    assert "Войти" in page.text
    hosting.sign_in(browser, person, address=page.request.full_path)
    hosting.run(app, "idsync", "account", "reset-factors", person.id)
    assert mailbox.wait_for(1)[2].startswith("Hello Ada Lovelace,")


def test_what_was_taken_back_is_not_told(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    """Nor is what a savepoint took back."""
    with app.app_context():
        user = identity.find_user(person.email)
        identity.set_password(user, "brand new words")
        db.session.rollback()
        user = identity.find_user(person.email)
        savepoint = db.session.begin_nested()
        identity.set_password(user, "brand new words")
        savepoint.rollback()
        db.session.commit()
    hosting.send_messages(app)
    assert mailbox.mails == []


def test_an_account_without_an_address_is_told_nothing(app: Flask, mailbox: Mailbox) -> None:
    added = hosting.run(app, "idsync", "account", "add", "--name", "Ada", "--json")
    hosting.run(app, "idsync", "account", "reset-factors", added["id"])
    hosting.send_messages(app)
    assert mailbox.mails == []


def test_a_receiver_that_fails_undoes_nothing(
    app: Flask, person: hosting.Person, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(sender: object, **_: object) -> None:
        raise RuntimeError("a bug of the site")

    with signals.event_recorded.connected_to(fail, app):
        hosting.run(app, "idsync", "account", "disable", person.id)
    assert "A receiver of idsync-event-recorded failed" in caplog.text
    assert hosting.run(app, "idsync", "account", "show", person.id, "--json")["disabled"] is True


def test_a_receiver_that_fails_hides_no_failed_sign_in(app: Flask, person: hosting.Person) -> None:
    """The answer and the audit log are the same without it."""

    def fail(sender: object, **_: object) -> None:
        raise RuntimeError("a bug of the site")

    with signals.sign_in_failed.connected_to(fail, app):
        assert hosting.sign_in(app.test_client(), person, password="wrong").status_code == 422
    with app.app_context():
        assert identity.audit.count(kind="sign-in failed", subject=person.id) == 1


def test_the_old_address_is_told_when_the_new_one_takes_no_mail(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    """It may be a thief's, and refuse on purpose."""

    def send(address: str, subject: str, text: str) -> None:
        if address == "thief@example.org":
            raise ValueError("not here")
        mailbox.put(address, subject, text)

    app.extensions[EXTENSION].sign_in.email._send_mail = send
    options = ("--email", "thief@example.org")
    hosting.run(app, "idsync", "account", "edit", person.id, *options)
    hosting.send_messages(app)
    assert [mail[0] for mail in mailbox.mails] == [person.email]
    assert "tell the people who run the service at once" in mailbox.mails[0][2]


def test_what_was_held_already_is_no_change(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    """Services send whole records; people learn to ignore warnings of nothing."""
    service = Service(app, hosting.register_application(app, "Service", "--accounts"))
    record = next(one for one in service.whole()["accounts"] if one["id"] == person.id)
    same = {name: record[name] for name in ("name", "email", "password")}
    service.changed(person.id, **same, tags_remove=["never held"], disabled=False)
    hosting.send_messages(app)
    assert mailbox.mails == []
    with app.app_context():
        kinds = [event.kind for event in identity.audit.events(subject=person.id)]
    assert kinds == ["signed in", "account created"]


def test_what_failed_in_a_savepoint_takes_nothing_else_along(
    app: Flask, person: hosting.Person, mailbox: Mailbox
) -> None:
    """A flush that fails is rolled back inside the savepoint around it."""
    with app.app_context():
        identity.set_password(identity.find_user(person.email), "brand new words")
        savepoint = db.session.begin_nested()
        db.session.add(User(name=None, email=None))
        with pytest.raises(IntegrityError):
            db.session.flush()
        savepoint.rollback()
        db.session.commit()
    assert "Your password was changed." in mailbox.wait_for(1)[2]


@pytest.mark.parametrize("end", ["outer savepoint", "close"])
def test_what_was_taken_back_later_is_not_told(
    app: Flask, person: hosting.Person, mailbox: Mailbox, end: str
) -> None:
    """By the savepoint around the one it was in, or with the session."""
    with app.app_context():
        outer = db.session.begin_nested()
        with db.session.begin_nested():
            identity.set_password(identity.find_user(person.email), "brand new words")
        if end == "outer savepoint":
            outer.rollback()
        else:
            db.session.close()
        db.session.execute(text("SELECT 1"))
        db.session.commit()
    hosting.send_messages(app)
    assert mailbox.mails == []
