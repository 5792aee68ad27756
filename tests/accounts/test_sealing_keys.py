"""Sealing keys: none that is needed may be missing, and each can be replaced beside the service."""

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from joserfc import jwt
from joserfc.jwk import KeySet
from sqlalchemy import text

import hosting
from host_app import create_app
from host_app.models import User, db, identity
from idsync.crypto.keys import key_id, parse_keys
from idsync.errors import ConfigurationError
from idsync.extension import EXTENSION

OLD, NEW, FOREIGN = (secrets.token_urlsafe(32) for _ in range(3))


@pytest.fixture
def settings(database_url: str) -> dict[str, Any]:
    return hosting.configuration(database_url, IDSYNC_SEALING_KEYS=[OLD])


@pytest.fixture
def people(settings: dict[str, Any]) -> list[hosting.Person]:
    """Ten accounts with passwords that are sealed with the old key."""
    with hosting.host(settings) as app:
        with app.app_context():
            db.create_all()
        app.test_client().get("/sign-in")  # the first request notes the key
        return [
            hosting.add_person(app, f"Person {number}", f"person{number}@example.org")
            for number in range(10)
        ]


@contextmanager
def host(settings: dict[str, Any], *keys: str) -> Iterator[Flask]:
    """A host with these sealing keys, newest first."""
    with hosting.host({**settings, "IDSYNC_SEALING_KEYS": list(keys)}) as app:
        yield app


def id_of(key: str) -> str:
    return key_id(parse_keys("", [key])[0]).hex()


def can_sign_in(app: Flask, person: hosting.Person, password: str | None = None) -> bool:
    return "Location" in hosting.sign_in(app.test_client(), person, password=password).headers


def set_password(app: Flask, person: hosting.Person, password: str) -> None:
    """As another process would: with a session and a connection of its own."""
    with app.app_context():
        user = db.session.scalars(db.select(User).filter_by(email=person.email)).one()
        identity.set_password(user, password)
        db.session.commit()


def reseal(app: Flask) -> str:
    return str(hosting.run(app, "idsync", "keys", "reseal"))


# --- the start ------------------------------------------------------------------------------------


def test_a_key_in_use_cannot_be_left_out(
    settings: dict[str, Any], people: list[hosting.Person]
) -> None:
    """The start is refused and the message names the key, never its bytes; nothing is lost."""
    for keys in ([NEW], [NEW, FOREIGN]):
        with pytest.raises(ConfigurationError, match=id_of(OLD)) as refused:
            create_app({**settings, "IDSYNC_SEALING_KEYS": keys})
        assert "IDSYNC_SEALING_KEYS" in str(refused.value)
        assert "reseal" in str(refused.value)
        assert not any(key in str(refused.value) for key in (OLD, NEW, FOREIGN))
    with host(settings, NEW, OLD) as app:
        assert can_sign_in(app, people[0])


def test_another_key_of_the_same_id_is_noticed(
    settings: dict[str, Any], people: list[hosting.Person]
) -> None:
    """Ids are short; what the database keeps of a key besides tells them apart."""
    with host(settings, OLD) as app, app.app_context():
        db.session.execute(
            text("UPDATE idsync_sealing_key SET check_value = :other"), {"other": bytes(32)}
        )
        db.session.commit()
    with pytest.raises(ConfigurationError, match=f"{id_of(OLD)}.*not the one"):
        create_app(settings)


def test_a_service_that_started_before_its_tables_is_checked_at_the_first_request(
    settings: dict[str, Any], people: list[hosting.Person]
) -> None:
    """As is one that started while the database was away."""
    with host(settings, OLD) as app, app.app_context():
        saved = db.session.execute(text("SELECT * FROM idsync_sealing_key")).mappings().one()
        db.session.execute(text("ALTER TABLE idsync_sealing_key RENAME TO away"))
        db.session.commit()
    assert saved["key_id"].hex() == id_of(OLD)
    with host(settings, FOREIGN) as app:
        with app.app_context():
            db.session.execute(text("ALTER TABLE away RENAME TO idsync_sealing_key"))
            db.session.commit()
        for _ in range(2):  # it does not get used to it
            with pytest.raises(ConfigurationError, match=id_of(OLD)):
                app.test_client().get("/sign-in")


# --- reseal ---------------------------------------------------------------------------------------


def test_after_a_reseal_the_old_key_can_go(
    settings: dict[str, Any], people: list[hosting.Person]
) -> None:
    """Passwords and signing keys work with the new one alone; no token becomes invalid."""
    with host(settings, OLD) as app:
        application = hosting.register_application(app, "Wiki", "--first-party")
        jwks = app.test_client().get("/oauth/jwks").json
    with host(settings, NEW, OLD) as app:
        assert can_sign_in(app, people[0])
        assert id_of(OLD) in reseal(app)
        assert can_sign_in(app, people[0])
    with host(settings, NEW) as app:
        assert all(can_sign_in(app, person) for person in people)
        assert app.test_client().get("/oauth/jwks").json == jwks
        browser = app.test_client()
        back = hosting.authorize(browser, application, people[1]).headers["Location"]
        answer = browser.post(
            "/oauth/token",
            data={
                "grant_type": "authorization_code",
                "code": parse_qs(urlsplit(back).query)["code"][0],
                "redirect_uri": application.redirect_uri,
            },
            auth=application.basic,
        )
        id_token = jwt.decode(answer.json["id_token"], KeySet.import_key_set(jwks))
        assert id_token.claims["sub"] == people[1].id
        assert "sound" in hosting.run(app, "idsync", "directory", "verify")
    with pytest.raises(ConfigurationError, match=id_of(NEW)):
        create_app(settings)


def test_a_reseal_moves_no_revision_and_ends_no_session(
    settings: dict[str, Any], people: list[hosting.Person]
) -> None:
    """Nothing that anybody sees has changed."""
    statement = text("SELECT subject, revision, epoch, updated_at FROM idsync_account")
    with host(settings, NEW, OLD) as app, app.app_context():
        before = sorted(db.session.execute(statement).all())
        counter = app.extensions[EXTENSION].revisions.current(db.session)
        db.session.rollback()
        reseal(app)
        assert sorted(db.session.execute(statement).all()) == before
        assert app.extensions[EXTENSION].revisions.current(db.session) == counter


def test_a_second_reseal_has_nothing_to_do(
    settings: dict[str, Any], people: list[hosting.Person]
) -> None:
    statement = text("SELECT subject, password FROM idsync_account")
    with host(settings, NEW, OLD) as app, app.app_context():
        reseal(app)
        before = sorted(db.session.execute(statement).all())
        db.session.rollback()
        assert "not needed" not in reseal(app)
        assert sorted(db.session.execute(statement).all()) == before


def test_a_password_changed_during_a_reseal_is_kept(
    settings: dict[str, Any], people: list[hosting.Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old value has been read; the new one must not be overwritten by it."""
    with (
        host(settings, NEW, OLD) as app,
        host(settings, NEW, OLD) as other,
        ThreadPoolExecutor(1) as thread,
    ):
        sealing = app.extensions[EXTENSION].sealing_keys
        original = sealing._apply

        def change_meanwhile(self: Any, *arguments: Any) -> None:
            monkeypatch.undo()
            changed = thread.submit(set_password, other, people[3], "changed since")
            # SQLite: it is changed now. PostgreSQL: it waits until the batch is written.
            wait([changed], timeout=0.5)
            original(*arguments)
            changed.result()

        monkeypatch.setattr(sealing.__class__, "_apply", change_meanwhile)
        reseal(app)
    with host(settings, NEW) as app:
        assert can_sign_in(app, people[3], "changed since")
        assert not can_sign_in(app, people[3])
        assert can_sign_in(app, people[4])


def test_what_a_worker_with_the_old_setting_writes_is_resealed_too(
    settings: dict[str, Any], people: list[hosting.Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was not restarted yet, and sealed with the old key behind the back of the command."""
    with host(settings, OLD) as not_restarted, host(settings, NEW, OLD) as app:
        sealing = app.extensions[EXTENSION].sealing_keys
        original = sealing._apply

        def change_after(self: Any, *arguments: Any) -> None:
            monkeypatch.undo()
            original(*arguments)
            set_password(not_restarted, people[3], "changed since")

        monkeypatch.setattr(sealing.__class__, "_apply", change_after)
        reseal(app)
    with host(settings, NEW) as app:
        assert can_sign_in(app, people[3], "changed since")
        assert "sound" in hosting.run(app, "idsync", "directory", "verify")


def test_a_secret_that_does_not_open_is_named_and_can_be_replaced(
    settings: dict[str, Any], people: list[hosting.Person]
) -> None:
    """It stops the reseal, the old key stays needed; a new password puts it right."""
    with host(settings, NEW, OLD) as app:
        with app.app_context():
            db.session.execute(
                text(
                    "UPDATE idsync_account SET password ="
                    " (SELECT password FROM idsync_account WHERE subject = :one)"
                    " WHERE subject = :other"
                ),
                {"one": people[0].id, "other": people[7].id},
            )
            db.session.commit()
        failed = app.test_cli_runner().invoke(args=["idsync", "keys", "reseal"])
        assert failed.exit_code == 1
        assert people[7].id in failed.output
        assert "Traceback" not in failed.output
        edit = ("idsync", "account", "edit", people[7].id, "--password-stdin")
        hosting.run(app, *edit, input="another one\n")
        assert id_of(OLD) in reseal(app)
    with host(settings, NEW) as app:
        assert can_sign_in(app, people[7], "another one")
        assert all(can_sign_in(app, person) for person in people if person is not people[7])
