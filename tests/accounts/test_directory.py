"""Accounts are made, changed and erased; the directory keeps their order."""

import dataclasses
from typing import Any

import pytest

from accounts.acting import HASH, OTHER_HASH, SERVICE, add, change, events, revision
from host_app.models import User, db, identity
from idsync.accounts.change import Change
from idsync.accounts.directory import Directory
from idsync.assembly import Parts
from idsync.audit.events import COMMAND
from idsync.errors import InvalidValue, UnknownRecord
from listed import changes_since


def test_an_account_is_found_as_it_was_made(directory: Directory, parts: Parts) -> None:
    """With the next revision, its tags sorted, and an event."""
    subject = add(directory, tags=["wiki", "ученик"], phone="+4930123456", subject="ada")
    found = directory.find(subject)
    assert found is not None
    assert (found.subject, found.name, found.email) == ("ada", "Ada", "ada@example.org")
    assert found.tags == {"wiki", "ученик"}
    assert directory.record(subject).revision == revision(parts) == 1
    assert len(events("account created")) == 1


def test_taken_values_are_refused_whole(directory: Directory, parts: Parts) -> None:
    """E-mail without case, id, phone number; nothing is half done."""
    add(directory, subject="ada", phone="+4930123456")
    for wrong in (
        {"email": "ADA@example.org"},
        {"email": "b@example.org", "subject": "ada"},
        {"email": "b@example.org", "phone": "+4930123456"},
    ):
        with pytest.raises(InvalidValue, match="taken"):
            add(directory, name="B", **wrong)
        db.session.rollback()
    assert len(list(directory.accounts())) == 1
    assert revision(parts) == 1


def test_an_existing_person_is_attached(directory: Directory) -> None:
    """The tags are added; password, name and id stay; an event says so."""
    subject = add(directory, tags=["wiki"], password="correct horse")
    before = directory.record(subject)
    kept = (before.password, before.epoch)
    record, existed = directory.create_or_attach(
        actor=SERVICE, name="Somebody", email="ADA@Example.org", verifier=HASH, tags=["mail"]
    )
    db.session.commit()
    assert existed
    assert record.subject == subject
    assert record.tags == ["mail", "wiki"]
    assert (record.password, record.epoch) == kept
    assert record.user.name == "Ada"
    assert len(events("account attached")) == 1


def test_a_new_person_is_created_with_the_services_hash_and_id(directory: Directory) -> None:
    """And can sign in with it."""
    record, existed = directory.create_or_attach(
        actor=SERVICE, name="Eve", email="eve@example.org", verifier=HASH, tags=[], subject="w-1"
    )
    db.session.commit()
    assert not existed
    assert record.subject == "w-1"
    assert identity.check_password(record.user, "secret")
    assert not identity.check_password(record.user, "other")


def test_people_without_email_are_different_people(directory: Directory) -> None:
    """Null is never "the same e-mail"."""
    for _ in range(2):
        _, existed = directory.create_or_attach(
            actor=SERVICE, name="Anonymous", email=None, verifier=None, tags=[]
        )
        db.session.commit()
        assert not existed


def test_a_change_is_all_or_nothing(directory: Directory, parts: Parts) -> None:
    """A refused field leaves the accepted ones alone too."""
    subject = add(directory)
    add(directory, name="B", email="b@example.org")
    before = revision(parts)
    with pytest.raises(InvalidValue, match="email"):
        change(directory, subject, name="New", tags_add=("x",), email="B@example.org")
    db.session.rollback()
    found = directory.find(subject)
    assert found is not None
    assert (found.name, found.tags) == ("Ada", frozenset())
    assert revision(parts) == before


def test_every_kind_of_change_raises_the_revision_and_the_same_value_does_not(
    directory: Directory, parts: Parts
) -> None:
    """Consumers hear of each exported change, and of nothing else."""
    subject = add(directory)
    changes: list[dict[str, Any]] = [
        {"name": "Ada L."},
        {"email": "new@example.org"},
        {"tags_add": ("wiki", "mail")},
        {"tags_remove": ("mail",)},
        {"verifier": HASH},
        {"disabled": True},
        {"disabled": False},
    ]
    for values in changes:
        before = revision(parts)
        change(directory, subject, **values)
        assert revision(parts) == before + 1, values
        assert directory.record(subject).revision == before + 1
        change(directory, subject, **values)
        assert revision(parts) == before + 1, ("again", values)


def test_a_new_password_and_disabling_end_everything_the_account_holds(
    directory: Directory,
) -> None:
    """The epoch; a name or a tag leaves it alone."""
    subject = add(directory, verifier=HASH)

    def epoch() -> bytes:
        return directory.record(subject).epoch

    first = epoch()
    change(directory, subject, name="B", tags_add=("x",), verifier=HASH)
    assert epoch() == first
    change(directory, subject, verifier=OTHER_HASH)
    second = epoch()
    change(directory, subject, disabled=True)
    third = epoch()
    change(directory, subject, disabled=False)
    assert epoch() == third
    directory.sign_out_everywhere(subject, actor=COMMAND)
    db.session.commit()
    assert len({first, second, third, epoch()}) == 4


@pytest.mark.parametrize(
    "values", [{"email": "x@example.org"}, {"verifier": HASH}, {"disabled": True}, {"email": None}]
)
def test_services_cannot_take_over_an_administrator(
    directory: Directory, values: dict[str, Any]
) -> None:
    """Password, e-mail and disabled are an administrator's own; names and tags are not."""
    subject = add(directory, administrator=True)
    with pytest.raises(InvalidValue, match="administrator"):
        change(directory, subject, SERVICE, **values)
    db.session.rollback()
    change(directory, subject, SERVICE, name="New", tags_add=("wiki",))
    change(directory, subject, COMMAND, **values)


def test_what_an_administrator_disabled_no_service_enables(directory: Directory) -> None:
    """But what a service disabled it may enable; and an administrator's word stands."""
    subject = add(directory)
    change(directory, subject, SERVICE, disabled=True)
    change(directory, subject, SERVICE, disabled=False)
    change(directory, subject, SERVICE, disabled=True)
    change(directory, subject, COMMAND, disabled=True)
    with pytest.raises(InvalidValue, match="administrator"):
        change(directory, subject, SERVICE, disabled=False)
    db.session.rollback()
    change(directory, subject, SERVICE, disabled=True)
    with pytest.raises(InvalidValue, match="administrator"):
        change(directory, subject, SERVICE, disabled=False)
    db.session.rollback()
    change(directory, subject, COMMAND, disabled=False)
    assert not directory.record(subject).disabled


@pytest.mark.parametrize(
    "values",
    [
        {"name": ""},
        {"name": "a\0b"},
        {"email": "nonsense"},
        {"phone": "030"},
        {"verifier": "secret"},
        {"verifier": "pbkdf2$1$c2FsdA$" + "0" * 64},
        {"tags_add": ("x",), "tags_remove": ("x",)},
        {"tags_add": ("e\u0301",), "tags_remove": ("\u00e9",)},
        {"tags_add": ("\u202e",)},
    ],
)
def test_bad_values_are_refused_by_field(directory: Directory, values: dict[str, Any]) -> None:
    """And nothing changes; a plain password sent as a hash above all."""
    subject = add(directory)
    with pytest.raises(InvalidValue) as refused:
        change(directory, subject, SERVICE, **values)
    db.session.rollback()
    assert refused.value.field in {"password" if name == "verifier" else name for name in values}
    if "verifier" in values:
        assert values["verifier"] not in str(refused.value)


def test_an_unknown_account_is_named(directory: Directory) -> None:
    """For change, erase and sign-out alike."""
    with pytest.raises(UnknownRecord, match="nobody"):
        directory.change("nobody", Change(name="x"), actor=COMMAND)
    db.session.rollback()


def test_an_erased_id_stays_taken_and_consumers_hear_of_it(
    directory: Directory, parts: Parts
) -> None:
    """Only subject and revision are kept; the host's user is gone."""
    subject = add(directory, subject="ada", tags=["wiki"])
    seen = revision(parts)
    directory.erase(subject, actor=COMMAND)
    db.session.commit()
    assert directory.find(subject) is None
    assert db.session.query(User).count() == 0
    with pytest.raises(InvalidValue, match="taken"):
        add(directory, subject="ada")
    db.session.rollback()
    changes = changes_since(parts.listing, seen)
    assert changes.removed == ["ada"]
    assert changes.revision == seen + 1
    add(directory)  # the e-mail is free again


def test_services_do_not_erase(directory: Directory) -> None:
    """It is not in their API."""
    subject = add(directory)
    with pytest.raises(InvalidValue, match="administrator"):
        directory.erase(subject, actor=SERVICE)
    db.session.rollback()


def test_changes_since_follow_a_tag(directory: Directory, parts: Parts) -> None:
    """New and changed holders, and those who lost the tag or went."""
    ada = add(directory, tags=["wiki", "ученик"])
    eve = add(directory, name="Eve", email="eve@example.org", tags=["wiki2"])
    start = changes_since(parts.listing, 0, "wiki")
    assert [account.subject for account in start.accounts] == [ada]
    assert [one.subject for one in changes_since(parts.listing, 0, "ученик").accounts] == [ada]
    change(directory, eve, tags_add=("wiki",))
    change(directory, ada, tags_remove=("wiki",))
    later = changes_since(parts.listing, start.revision, "wiki")
    assert [account.subject for account in later.accounts] == [eve]
    assert later.removed == [ada]
    assert changes_since(parts.listing, later.revision, "wiki").accounts == []


def test_a_change_names_its_fields_for_the_audit() -> None:
    """Names only, never values."""
    assert Change(verifier=HASH, tags_add=("x",)).names() == ["verifier", "tags_add"]
    assert {field.name for field in dataclasses.fields(Change)} >= {"name", "email", "disabled"}
