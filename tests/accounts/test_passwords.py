"""The one password verifier of an account: checked, renewed, taken over, replaced."""

from typing import Any

import pytest
from flask import Flask, g
from sqlalchemy import text

import hosting
from host_app import create_app
from host_app.models import db, identity
from idsync.accounts.change import Change
from idsync.accounts.directory import Directory
from idsync.assembly import Parts
from idsync.audit.events import COMMAND
from idsync.crypto.exchange import ExchangeHash
from idsync.errors import InvalidValue


def user_with(directory: Directory, **values: Any) -> Any:
    record = directory.add(actor=COMMAND, name="Ada", email="ada@example.org", **values)
    db.session.commit()
    return record.user


def verifier(parts: Parts, user: Any) -> str | None:
    record = parts.directory.record_of(user)
    assert record is not None
    db.session.refresh(record)
    return parts.passwords.verifier(record)


def test_a_password_is_stored_sealed_and_as_an_exchange_hash(
    directory: Directory, parts: Parts
) -> None:
    """Neither the password nor the hash can be read in the table."""
    user = user_with(directory, password="correct horse")
    stored = db.session.execute(text("SELECT password FROM idsync_account")).scalar_one()
    assert b"pbkdf2" not in bytes(stored)
    assert (verifier(parts, user) or "").startswith("pbkdf2$10000$")
    assert identity.check_password(user, "correct horse")
    assert not identity.check_password(user, "Correct horse")
    assert not identity.check_password(user, "")
    assert not identity.check_password(None, "correct horse")


@pytest.mark.parametrize("plain", ["7 chars", "x" * 1025])
def test_every_way_to_a_new_password_refuses_one_that_is_none(
    directory: Directory, plain: str
) -> None:
    """The account stays as it is, and its old password right."""
    user = user_with(directory, password="correct horse")
    subject = directory.ensure_record(user).subject
    with pytest.raises(InvalidValue, match="password"):
        identity.set_password(user, plain)
    with pytest.raises(InvalidValue, match="password"):
        directory.change(subject, Change(password=plain), actor=COMMAND)
    with pytest.raises(InvalidValue, match="password"):
        directory.add(actor=COMMAND, name="Eve", password=plain)
    db.session.commit()
    assert len(list(directory.accounts())) == 1
    assert identity.check_password(user, "correct horse")


def test_administrators_have_argon2id(directory: Directory, parts: Parts) -> None:
    """Their hash is never one that a service could check."""
    user = user_with(directory, password="correct horse", administrator=True)
    assert (verifier(parts, user) or "").startswith("$argon2id$")
    assert identity.check_password(user, "correct horse")


def test_without_exchange_everybody_has_argon2id(database_url: str) -> None:
    """IDSYNC_PASSWORD_EXCHANGE off; an exchange hash from before is renewed at sign-in."""
    settings = hosting.configuration(database_url)
    app = create_app(settings)
    with app.app_context():
        db.create_all()
        user = user_with(identity.directory, password="correct horse")
        key = user.id
    hosting.close_host(app)
    app = create_app({**settings, "IDSYNC_PASSWORD_EXCHANGE": False})
    with app.app_context():
        from host_app.models import User

        user = db.session.get(User, key)
        assert identity.check_password(user, "correct horse")
        db.session.commit()
        parts = app.extensions["idsync"]
        assert (verifier(parts, user) or "").startswith("$argon2id$")
        assert identity.check_password(user, "correct horse")
    hosting.close_host(app)


def test_a_renewal_ends_no_session_and_raises_the_revision(
    directory: Directory, parts: Parts
) -> None:
    """A weaker hash from a service becomes ours at the next sign-in; consumers get the new one.

    However short the password: it was not chosen here.
    """
    weak = str(ExchangeHash.create("secret", iterations=10_000))
    user = user_with(directory, verifier=weak)
    parts.passwords._passwords._iterations = 20_000
    before = parts.revisions.current(db.session)[1]
    record = directory.record_of(user)
    assert record is not None
    epoch = record.epoch
    assert identity.check_password(user, "secret")
    db.session.commit()
    assert (verifier(parts, user) or "").startswith("pbkdf2$20000$")
    assert record.epoch == epoch
    assert record.revision == before + 1


def test_a_renewal_never_overwrites_a_password_changed_meanwhile(
    app: Flask, directory: Directory, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written only where the value that was verified is still the stored one."""
    user = user_with(directory, password="correct horse")
    parts.passwords._passwords._iterations = 20_000
    original = parts.passwords._passwords.new_verifier

    def change_meanwhile(plain: str, *, administrator: bool) -> str:
        monkeypatch.undo()
        db.session.rollback()
        identity.set_password(user, "changed since")
        db.session.commit()
        return original(plain, administrator=administrator)

    monkeypatch.setattr(parts.passwords._passwords, "new_verifier", change_meanwhile)
    identity.check_password(user, "correct horse")
    db.session.commit()
    assert identity.check_password(user, "changed since")
    assert not identity.check_password(user, "correct horse")


def test_a_row_copied_to_another_person_opens_nothing(directory: Directory) -> None:
    """Sealed with the subject: an attacker who can write the table gains nothing by it."""
    mine = user_with(directory, password="my password")
    record = directory.add(actor=COMMAND, name="B", email="b@example.org", password="her password")
    db.session.commit()
    db.session.execute(
        text(
            "UPDATE idsync_account SET password ="
            " (SELECT password FROM idsync_account WHERE account_key = :mine)"
            " WHERE account_key = :hers"
        ),
        {"mine": mine.id, "hers": record.account_key},
    )
    db.session.commit()
    from idsync.errors import IdSyncError

    with pytest.raises(IdSyncError):
        identity.check_password(record.user, "my password")


def test_a_sign_in_is_bound_to_the_epoch_read_with_the_password(
    app: Flask, directory: Directory
) -> None:
    """A password changed between the check and the sign-in."""
    user = user_with(directory, password="correct horse")

    def change() -> None:
        record = directory.record_of(user)
        assert record is not None
        record.epoch = b"changed!"
        db.session.commit()

    with app.test_request_context():
        assert identity.check_password(user, "correct horse")
        change()
        assert not identity.sign_in(user)
    with app.test_request_context():
        g.pop("idsync_verified")  # a later request; the fixture's application context goes on
        assert identity.sign_in(user)
        assert identity.signed_in() is not None
    with app.test_request_context():
        from flask_login import login_user

        assert identity.check_password(user, "correct horse")
        record = directory.record_of(user)
        assert record is not None
        record.epoch = b"changed2"
        db.session.commit()
        login_user(user)  # a host that does it itself gets a session that is dead on arrival
        assert identity.signed_in() is None


def test_a_disabled_account_is_not_signed_in_by_any_call(app: Flask, directory: Directory) -> None:
    """Whatever the host checked."""
    user = user_with(directory, password="correct horse")
    record = directory.record_of(user)
    assert record is not None
    record.disabled_by = "service"
    db.session.commit()
    with app.test_request_context():
        assert not identity.sign_in(user)
        assert identity.signed_in() is None
