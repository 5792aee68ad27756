"""The migrations make exactly the tables that the code expects."""

from collections.abc import Iterator

import flask_migrate
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from flask import Flask
from sqlalchemy import inspect, select, text
from sqlalchemy.exc import IntegrityError

import hosting
from host_app.models import User, db
from idsync.accounts.names import name_key


@pytest.fixture
def bare(database_url: str) -> Iterator[Flask]:
    """A host on an empty database, without tables."""
    with hosting.host(hosting.configuration(database_url)) as app, app.app_context():
        yield app


def test_the_migrations_leave_nothing_to_change(bare: Flask) -> None:
    """`flask db upgrade`, then `flask db check`: models and migrations agree."""
    flask_migrate.upgrade()
    flask_migrate.check()


def test_the_tables_the_other_tests_use_are_those_of_the_migrations(bare: Flask) -> None:
    """`create_all` is only a quicker way to the same schema."""
    flask_migrate.upgrade()
    with db.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), db.metadata) == []


def test_the_migrations_can_be_taken_back(bare: Flask) -> None:
    flask_migrate.upgrade()
    flask_migrate.downgrade(revision="base")
    assert inspect(db.engine).get_table_names() == ["alembic_version"]


def test_a_migrated_database_holds_accounts(bare: Flask) -> None:
    """The schema works, and an account goes with its person."""
    flask_migrate.upgrade()
    hosting.add_person(bare)
    user = db.session.scalars(select(User)).one()
    db.session.delete(user)
    db.session.commit()
    assert db.session.execute(text("SELECT count(*) FROM idsync_account")).scalar() == 0


def test_a_failed_migration_leaves_no_trace(bare: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each upgrade is one transaction, on SQLite too."""
    from alembic.operations import Operations

    create_table = Operations.create_table

    def fail_late(self: Operations, name: str, *columns: object, **options: object) -> object:
        if name == "idsync_session":
            raise OSError("a power cut")
        return create_table(self, name, *columns, **options)

    monkeypatch.setattr(Operations, "create_table", fail_late)
    with pytest.raises(OSError, match="power cut"):
        flask_migrate.upgrade()
    assert inspect(db.engine).get_table_names() == []


def test_foreign_keys_are_enforced_after_a_migration(bare: Flask) -> None:
    """The migration switches them off on its connection, which goes back to the pool."""
    flask_migrate.upgrade()
    statement = text("INSERT INTO idsync_consent VALUES (1, 'app_x', 'openid', 0)")
    for _ in range(3):
        with db.engine.connect() as connection, pytest.raises(IntegrityError):
            connection.execute(statement)


OLDER_ROWS = (
    "INSERT INTO person (id, name, created_at) VALUES (1, 'Ada', '2026-01-01')",
    "INSERT INTO idsync_account (account_key, subject, legacy_password, email_verified, tags, mfa,"
    " administrator, epoch, revision, updated_at)"
    " VALUES (1, 's', false, false, '[]', false, false, :bytes, 0, '2026-01-01')",
    "INSERT INTO idsync_application (client_id, name, redirect_uris, post_logout_redirect_uris,"
    " scopes, first_party, accounts, id_token_algorithm, active, created_at)"
    " VALUES ('app_1', 'A', '[]', '[]', 'openid', false, false, 'RS256', true, 0)",
    "INSERT INTO idsync_grant (id, client_id, account_key, session_id, epoch, scope, redirect_uri,"
    " auth_time, amr, issued_at, expires_at, generation)"
    " VALUES (:bytes, 'app_1', 1, :bytes, :bytes, 'openid', '', 0, '', 0, 0, 0)",
)


def test_grants_from_before_back_channel_logout_keep_their_session(bare: Flask) -> None:
    """The session an application knows is, for them, the one they belong to."""
    flask_migrate.upgrade(revision="0001")
    for statement in OLDER_ROWS:
        values = {"bytes": b"s" * 16} if ":bytes" in statement else {}
        db.session.execute(text(statement), values)
    db.session.commit()
    flask_migrate.upgrade()
    row = db.session.execute(text("SELECT issued_session_id, session_id FROM idsync_grant")).one()
    assert bytes(row.issued_session_id) == bytes(row.session_id) == b"s" * 16
    required = "SELECT backchannel_logout_session_required FROM idsync_application"
    assert not db.session.execute(text(required)).scalar()


def test_names_of_people_are_folded_and_all_of_it_can_be_taken_back(bare: Flask) -> None:
    """More people than are read at a time; a downgrade keeps them, and they can come up again."""
    flask_migrate.upgrade(revision="0002")
    people = [
        {"key": key, "name": f"ÅDA  {key}", "subject": f"s{key}", "epoch": b"e" * 16}
        for key in range(1, 1202)
    ]
    columns = (
        "account_key, subject, legacy_password, email_verified, tags, mfa, administrator, epoch,"
        " revision, updated_at"
    )
    for statement in (
        "INSERT INTO person (id, name, created_at) VALUES (:key, :name, '2026-01-01')",
        f"INSERT INTO idsync_account ({columns}) VALUES"  # noqa: S608
        " (:key, :subject, false, false, '[]', false, false, :epoch, 0, '2026-01-01')",
    ):
        db.session.execute(text(statement), people)
    db.session.commit()
    for _ in range(2):
        flask_migrate.upgrade()
        rows = db.session.execute(text("SELECT account_key, name_key FROM idsync_account")).all()
        assert {row.account_key: row.name_key for row in rows} == {
            one["key"]: name_key(one["name"]) for one in people
        }
        db.session.rollback()
        flask_migrate.downgrade(revision="0001")
        left = "SELECT count(*) FROM idsync_account JOIN person ON id = account_key"
        assert db.session.execute(text(left)).scalar() == len(people)
        db.session.rollback()
