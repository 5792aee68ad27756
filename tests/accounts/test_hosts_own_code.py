"""What the site's own code does to its users is in the directory too."""

import pytest
from sqlalchemy import delete, insert, text, update

from accounts.acting import add, revision
from host_app.models import User, db, identity
from idsync.accounts.directory import Directory
from idsync.assembly import Parts
from idsync.audit.events import COMMAND
from idsync.errors import InvalidValue
from listed import changes_since


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
