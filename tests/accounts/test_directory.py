"""Accounts are made, changed and erased; the directory keeps their order."""

import dataclasses
from typing import Any

import pytest
from sqlalchemy import delete, insert, text, update

from host_app.models import User, db, identity
from idsync.accounts.change import Change
from idsync.accounts.directory import Directory
from idsync.assembly import Parts
from idsync.audit.events import COMMAND, Actor
from idsync.crypto.exchange import ExchangeHash
from idsync.errors import InvalidValue, UnknownRecord
from listed import changes_since

SERVICE = Actor("service", "app_wiki")
HASH = str(ExchangeHash.create("secret", iterations=10_000))
OTHER_HASH = str(ExchangeHash.create("other", iterations=10_000))


def add(directory: Directory, **values: Any) -> str:
    record = directory.add(actor=COMMAND, **{"name": "Ada", "email": "ada@example.org", **values})
    db.session.commit()
    return record.subject


def change(directory: Directory, subject: str, actor: Actor = COMMAND, **values: Any) -> Any:
    record = directory.change(subject, Change(**values), actor=actor)
    db.session.commit()
    return record


def revision(parts: Parts) -> int:
    return parts.revisions.current(db.session)[1]


def events(kind: str) -> list[Any]:
    rows = db.session.execute(text("SELECT * FROM idsync_event WHERE kind = :kind"), {"kind": kind})
    return list(rows)


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


# --- the host's own code ------------------------------------------------------------------------


def test_people_the_host_makes_have_an_account(directory: Directory, parts: Parts) -> None:
    """In the same transaction, with a revision."""
    user = User(name="Host", email="Host@Example.org")
    db.session.add(user)
    db.session.commit()
    record = directory.record_of(user)
    assert record is not None
    assert record.email_key == "host@example.org"
    assert record.revision == revision(parts)
    assert identity.find_user("HOST@example.org") is user


def test_the_hosts_own_change_of_name_or_email_raises_the_revision(
    directory: Directory, parts: Parts
) -> None:
    """Other columns do not."""
    subject = add(directory)
    user = directory.record(subject).user
    before = revision(parts)
    user.name = "Changed"
    db.session.commit()
    assert directory.record(subject).revision == revision(parts) == before + 1
    user.email = "changed@example.org"
    db.session.commit()
    assert directory.record(subject).email_key == "changed@example.org"
    assert revision(parts) == before + 2
    user.created_at = user.created_at.replace(year=2001)
    db.session.commit()
    assert revision(parts) == before + 2


def test_the_host_cannot_give_one_person_anothers_email(directory: Directory) -> None:
    """Compared without case, like everywhere."""
    add(directory)
    other = directory.record(add(directory, name="B", email="b@example.org")).user
    other.email = "ADA@example.org"
    with pytest.raises(InvalidValue, match="email"):
        db.session.commit()
    db.session.rollback()


def test_deleting_a_user_by_the_host_is_an_erasure(directory: Directory, parts: Parts) -> None:
    """Consumers hear of it."""
    subject = add(directory)
    seen = revision(parts)
    db.session.delete(directory.record(subject).user)
    db.session.commit()
    assert changes_since(parts.listing, seen).removed == [subject]


def test_nothing_of_a_deleted_user_passes_to_the_next_with_the_same_key(
    directory: Directory, parts: Parts
) -> None:
    """Also where foreign keys are not enforced, as on many SQLite sites: keys are used again."""
    if db.engine.dialect.name == "sqlite":
        db.session.execute(text("PRAGMA foreign_keys = OFF"))
        assert db.session.execute(text("PRAGMA foreign_keys")).scalar() == 0
    user = directory.record(add(directory, password="correct horse", tags=["wiki"])).user
    key = user.id
    registration = parts.applications.register(
        actor=COMMAND, name="A", redirect_uris=("https://a.example/",)
    )
    client_id = registration.application.client_id
    consent = text(
        "INSERT INTO idsync_consent (account_key, client_id, scope, agreed_at)"
        " VALUES (:key, :client_id, 'openid', 0)"
    )
    db.session.execute(consent, {"key": key, "client_id": client_id})
    db.session.delete(user)
    db.session.commit()
    again = User(id=key, name="Somebody else", email="else@example.org")
    db.session.add(again)
    db.session.commit()
    record = directory.record_of(again)
    assert record is not None
    assert (record.tags, record.password) == ([], None)
    assert db.session.execute(text("SELECT count(*) FROM idsync_consent")).scalar() == 0


def test_a_rolled_back_savepoint_leaves_no_false_stamp(directory: Directory, parts: Parts) -> None:
    """Nor does what was done outside it get lost."""
    ada = add(directory)
    eve = add(directory, name="Eve", email="eve@example.org")
    before = revision(parts)
    savepoint = db.session.begin_nested()
    directory.record(ada).user.name = "Never"
    db.session.flush()
    savepoint.rollback()
    db.session.commit()
    assert revision(parts) == before
    directory.record(eve).user.name = "Outside"
    with db.session.begin_nested():
        directory.record(ada).user.name = "Kept"
    savepoint = db.session.begin_nested()
    directory.record(ada).tags = ["never"]
    db.session.flush()
    savepoint.rollback()
    db.session.commit()
    assert revision(parts) == before + 1
    assert {directory.record(one).revision for one in (ada, eve)} == {before + 1}


def test_a_rolled_back_transaction_is_forgotten(directory: Directory, parts: Parts) -> None:
    """The next commit of the same session stamps only its own."""
    ada = add(directory)
    eve = add(directory, name="Eve", email="eve@example.org")
    before = revision(parts)
    directory.record(ada).user.name = "Never"
    db.session.flush()
    db.session.rollback()
    directory.record(eve).user.name = "Yes"
    db.session.commit()
    assert directory.record(ada).revision < directory.record(eve).revision == before + 1


def test_touch_stamps_what_raw_sql_changed(directory: Directory, parts: Parts) -> None:
    """With the transaction that did it."""
    subject = add(directory)
    user = directory.record(subject).user
    before = revision(parts)
    table = User.__tablename__
    db.session.execute(text(f"UPDATE {table} SET name = 'Raw' WHERE id = :id"), {"id": user.id})  # noqa: S608
    identity.touch([user.id])
    db.session.commit()
    assert directory.record(subject).revision == before + 1


def test_orm_bulk_statements_on_accounts_are_refused(directory: Directory) -> None:
    """They pass the session's events by; the message points to the directory and to touch."""
    add(directory)
    for statement in (
        update(User).values(name="X"),
        update(User).values({User.email: "x@example.org"}),
        delete(User),
        insert(User).values(name="X"),
    ):
        with pytest.raises(InvalidValue, match=r"identity\.directory.*identity\.touch"):
            db.session.execute(statement)
        db.session.rollback()
    with pytest.raises(InvalidValue):
        db.session.execute(update(User), [{"id": 1, "name": "X"}])
    db.session.rollback()
    with pytest.raises(InvalidValue):
        db.session.query(User).update({"name": "X"})
    db.session.rollback()


def test_bulk_statements_on_the_hosts_other_columns_are_its_own_affair(
    directory: Directory,
) -> None:
    """A host's `last_seen` needs no directory."""
    subject = add(directory)
    created = directory.record(subject).user.created_at.replace(year=2001)
    db.session.execute(update(User).values(created_at=created))
    db.session.commit()
    assert directory.record(subject).user.created_at.year == 2001


def test_a_change_names_its_fields_for_the_audit() -> None:
    """Names only, never values."""
    assert Change(verifier=HASH, tags_add=("x",)).names() == ["verifier", "tags_add"]
    assert {field.name for field in dataclasses.fields(Change)} >= {"name", "email", "disabled"}
