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
