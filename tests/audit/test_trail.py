"""Whatever changes somebody's access leaves an event: who, what, to whom, when, from where."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import event, insert

import hosting
import idsync
from host_app.models import User, db, identity

EVIL = "203.0.113.9"
PASSWORD_PAGE = "/security/password"


@pytest.fixture
def visitor(app: Flask) -> FlaskClient:
    """A browser at an address of its own."""
    client = app.test_client()
    client.environ_base["REMOTE_ADDR"] = EVIL
    return client


@pytest.fixture
def statements(app: Flask) -> Iterator[list[str]]:
    """Everything the database is told about the table of events."""
    told: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if "idsync_event" in statement:
            told.append(statement.split()[0].upper())

    with app.app_context():
        engine = db.engine
    event.listen(engine, "before_cursor_execute", note)
    yield told
    event.remove(engine, "before_cursor_execute", note)


def kinds(app: Flask, **filters: Any) -> list[str]:
    """Of all events, oldest first."""
    with app.app_context():
        return [one.kind for one in reversed(identity.audit.events(**filters))]


def test_the_life_of_an_account_is_told(app: Flask, visitor: FlaskClient) -> None:
    """Each step by whoever made it, from where it was made."""
    person = hosting.add_person(app)
    hosting.sign_in(visitor, person, password="wrong")
    hosting.sign_in(visitor, person)
    hosting.set_up_app(visitor)
    passwords = {"new": "another horse", "again": "another horse"}
    assert hosting.submit(visitor, PASSWORD_PAGE, passwords).status_code == 303
    for command in (["edit", "--tag", "wiki"], ["disable"], ["enable"]):
        hosting.run(app, "idsync", "account", *command, person.id)
    hosting.run(app, "idsync", "account", "reset-factors", person.id)
    hosting.run(app, "idsync", "account", "sign-out", person.id)
    hosting.run(app, "idsync", "account", "erase", person.id, "--yes")
    told = kinds(app, subject=person.id)
    assert told[:-6] == [
        "account created",
        "sign-in failed",
        "signed in",
        "second factor added",
        "password changed",
        "signed in",
    ]
    assert told[-6:] == [
        "account changed",
        "account changed",
        "account changed",
        "second factors reset",
        "signed out everywhere",
        "account erased",
    ]
    with app.app_context():
        for one in identity.audit.events(subject=person.id):
            at_a_browser = one.kind in told[1:6]
            assert one.actor.address == (EVIL if at_a_browser else None)
            assert one.actor.kind in (("person", "visitor") if at_a_browser else ("command",))
            if one.kind == "sign-in failed":
                assert (one.actor.kind, one.details) == ("visitor", {"method": "password"})


def test_signing_out_is_told(app: Flask, visitor: FlaskClient) -> None:
    person = hosting.add_person(app)
    hosting.sign_in(visitor, person)
    visitor.get("/logout")
    assert kinds(app, subject=person.id)[-2:] == ["signed in", "signed out"]


def test_the_operator_is_named(app: Flask) -> None:
    """Commands are run by somebody who is known to the machine."""
    with mock.patch("getpass.getuser", return_value="grace"):
        made = hosting.register_application(app, "Wiki", "--accounts")
        hosting.run(app, "idsync", "application", "edit", made.client_id, "--name", "New")
        hosting.run(app, "idsync", "application", "rotate-secret", made.client_id)
        hosting.run(app, "idsync", "application", "deactivate", made.client_id)
        hosting.run(app, "idsync", "application", "activate", made.client_id)
        hosting.run(app, "idsync", "keys", "rotate")
        hosting.run(app, "idsync", "keys", "reseal")
        hosting.run(app, "idsync", "restored")
    assert kinds(app, client_id=made.client_id) == [
        "application registered",
        "application changed",
        "secret rotated",
        "application deactivated",
        "application activated",
    ]
    assert kinds(app)[5:] == [
        "signing key made",
        "signing key made",
        "secrets resealed",
        "directory restored",
    ]
    with app.app_context():
        assert {one.actor.name for one in identity.audit.events()} == {"flask idsync (grace)"}
    with mock.patch("getpass.getuser", side_effect=OSError("no name")):
        hosting.run(app, "idsync", "restored")
    with app.app_context():
        assert identity.audit.events(limit=1)[0].actor.name == "flask idsync"


def newest(app: Flask, kind: str) -> dict[str, Any]:
    """The details of the newest event of a kind."""
    with app.app_context():
        return dict(identity.audit.events(kind=kind, limit=1)[0].details)


def test_the_right_of_an_administrator_is_told(app: Flask) -> None:
    """Given with the account, taken and given later: the log says which it was."""
    hosting.add_person(app, "Root", "root@example.org", "pass word", "--administrator")
    assert newest(app, "account created")["administrator"] is True
    person = hosting.add_person(app)
    assert "administrator" not in newest(app, "account created")
    for option, held in (("--administrator", True), ("--no-administrator", False)):
        hosting.run(app, "idsync", "account", "edit", person.id, option)
        told = newest(app, "account changed")
        assert told == {"fields": ["administrator"], "administrator": held}


def test_the_rights_of_an_application_are_told(app: Flask) -> None:
    """Where it sends people and what it may do, as it is now; never of its secret."""
    made = hosting.register_application(app, "Wiki", "--first-party", "--service-tag", "wiki")
    told = newest(app, "application registered")
    assert (told["first_party"], told["accounts"], told["service_tag"]) == (True, False, "wiki")
    assert told["scopes"] == ["openid", "profile", "email", "offline_access"]
    assert told["redirect_uris"] == [made.redirect_uri]
    assert not any("secret" in name for name in told)
    uri = "https://wiki.example/logout"
    options = ("--accounts", "--service-tag", "", "--backchannel-logout-uri", uri)
    hosting.run(app, "idsync", "application", "edit", made.client_id, *options)
    assert newest(app, "application changed") == {
        "fields": ["accounts", "backchannel_logout_uri", "service_tag"],
        "accounts": True,
        "backchannel_logout_uri": uri,
        "service_tag": None,
    }
    hosting.run(app, "idsync", "application", "rotate-secret", made.client_id)
    assert newest(app, "secret rotated") == {"overlap": 0}


def test_what_a_service_does_is_told_with_its_address(app: Flask, visitor: FlaskClient) -> None:
    made = hosting.register_application(app, "Wiki", "--accounts")
    body = {"name": "Ada", "email": "ada@example.org", "password": None, "tags": ["wiki"]}
    visitor.post("/api/service/accounts", json=body, auth=made.basic)
    with app.app_context():
        newest = identity.audit.events(client_id=made.client_id, limit=1)[0]
    assert (newest.kind, newest.actor.name, newest.actor.address) == (
        "account created", made.client_id, EVIL,
    )  # fmt: skip


def test_people_who_are_adopted_are_told(app: Flask) -> None:
    """By whom, each."""
    with app.app_context():
        db.session.connection().execute(insert(User.__table__), [{"name": "A"}, {"name": "B"}])
        db.session.commit()
    hosting.run(app, "idsync", "adopt")
    assert kinds(app) == ["account adopted"] * 2


def test_an_unknown_person_is_not_written_down(app: Flask, visitor: FlaskClient) -> None:
    """A password typed into the wrong field would be kept for a year otherwise."""
    stranger = hosting.Person("", "", "secret-password@example.org", "also secret")
    hosting.sign_in(visitor, stranger)
    with app.app_context():
        told = identity.audit.events(limit=1)[0]
    assert (told.kind, told.subject, told.actor.address) == ("sign-in failed", None, EVIL)
    assert "secret" not in repr(told)


def test_no_attacker_fills_the_log(database_url: str) -> None:
    """After its share an account's failures are told of once, then not; others' still are."""
    app = hosting.make_host(database_url, **hosting.NO_LIMITS)
    ada = hosting.add_person(app)
    bo = hosting.add_person(app, "Bo", "bo@example.org")
    nobody = hosting.Person("", "", "nobody@example.org", "x")
    for person in [ada] * 25 + [nobody] * 65 + [bo]:
        with app.app_context():
            found = identity.find_user(person.email)
            with app.test_request_context():
                assert not identity.check_password(found, "wrong", login=person.email)
    assert kinds(app, subject=ada.id).count("sign-in failed") == 20
    assert kinds(app, subject=bo.id).count("sign-in failed") == 1
    told = kinds(app, limit=1000)
    assert told.count("sign-in failed") == 20 + 60 + 1
    assert told.count("more sign-ins failed") == 1
    hosting.close_host(app)


def test_time_does_not_tell_who_is_known(database_url: str) -> None:
    """Once nothing is noted of unknown people, a try of theirs costs what one of an account does:
    as many statements that write, and as many commits.
    """
    app = hosting.make_host(database_url, **hosting.NO_LIMITS)
    ada = hosting.add_person(app)
    work: list[str] = []

    def fail(email: str) -> list[str]:
        work.clear()
        with app.app_context(), app.test_request_context():
            found = identity.find_user(email)
            assert not identity.check_password(found, "wrong", login=email)
        return list(work)

    with app.app_context():
        engine = db.engine
    event.listen(engine, "commit", lambda _: work.append("COMMIT"))
    event.listen(
        engine,
        "before_cursor_execute",
        lambda connection, cursor, statement, *_: work.append(statement.split()[0]),
    )
    fail(ada.email)  # the first try makes the row that counts the others
    for _ in range(65):
        fail("nobody@example.org")

    def written(email: str) -> int:
        return sum(one in ("INSERT", "UPDATE") for one in fail(email))

    known, unknown = written(ada.email), written("nobody@example.org")
    assert known == unknown
    assert fail(ada.email).count("COMMIT") == fail("nobody@example.org").count("COMMIT")
    hosting.close_host(app)


def test_nothing_ever_changes_an_event(
    app: Flask, visitor: FlaskClient, statements: list[str]
) -> None:
    """Rows are added and read. Only `prune` deletes."""
    test_the_life_of_an_account_is_told(app, visitor)
    hosting.run(app, "idsync", "audit", "list")
    assert {"INSERT", "SELECT"} == set(statements)
    hosting.run(app, "idsync", "prune")
    assert {"INSERT", "SELECT", "DELETE"} == set(statements)


def test_every_kind_of_event_is_in_the_documentation() -> None:
    """Whoever reads the log can look up what a line means."""
    documented = (Path(__file__).parents[2] / "docs" / "audit.md").read_text()
    written = {
        argument.value
        for path in Path(idsync.__file__).parent.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        if call.func.attr in ("record", "record_all", "_record", "_note", "_change")
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }
    assert len(written) > 20
    assert [kind for kind in sorted(written) if f"`{kind}`" not in documented] == []
