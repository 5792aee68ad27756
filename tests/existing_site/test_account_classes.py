"""Which classes idsync takes for a person, and that every type of key carries through a sign-in."""

import uuid
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import BigInteger, Integer, MetaData, String, Uuid

from existing_site.browser import sign_in_at
from existing_site.hosts import (
    MAIL,
    PASSWORD,
    add_person,
    browser_at,
    make_host,
    register_wiki,
    running,
)
from idsync import ConfigurationError, IdSync

NAMING_CONVENTION = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


@pytest.mark.parametrize(("has", "misses"), [("name", "email"), ("email", "name")])
def test_an_account_class_without_name_or_email_is_refused(has: str, misses: str) -> None:
    """The message names the attribute and how to add it."""
    db = SQLAlchemy()
    columns = {"id": db.Column(Integer, primary_key=True), has: db.Column(String(80))}
    person = type("Person", (db.Model,), columns)
    with pytest.raises(ConfigurationError, match=rf"Person needs .*'{misses}'.*synonym\("):
        IdSync(db, account=person)


def test_a_name_that_is_no_column_is_refused() -> None:
    """Statements cannot select a Python property; said at import, not at the first sign-in."""
    db = SQLAlchemy()

    class Person(db.Model):
        id = db.Column(Integer, primary_key=True)
        email = db.Column(String(80))
        name = property(lambda self: self.email.partition("@")[0])

    with pytest.raises(ConfigurationError, match="Person needs the attribute 'name'"):
        IdSync(db, account=Person)


def test_a_class_that_is_not_mapped_is_refused() -> None:
    """Such as the base class, or a form."""
    with pytest.raises(ConfigurationError, match="not a mapped class"):
        IdSync(SQLAlchemy(), account=object)


def test_a_composite_key_is_refused() -> None:
    """The message names the columns."""
    db = SQLAlchemy()

    class Member(db.Model):
        club = db.Column(Integer, primary_key=True)
        number = db.Column(Integer, primary_key=True)
        name = db.Column(String(80))
        email = db.Column(String(80))

    with pytest.raises(ConfigurationError, match=r"Member has a primary key .*\(club, number\)"):
        IdSync(db, account=Member)


@pytest.mark.parametrize(
    ("key_type", "key"),
    [
        pytest.param(Uuid(), uuid.UUID(int=7), id="uuid"),
        pytest.param(Uuid(as_uuid=False), str(uuid.UUID(int=7)), id="uuid text"),
        pytest.param(String(40), "ada.l@maths,1.0 é", id="string"),
        pytest.param(BigInteger(), 2**62, id="bigint"),
    ],
)
def test_a_person_signs_in_whatever_type_the_key_has(
    key_type: Any, key: Any, database_url: str
) -> None:
    """The key comes back from Flask-Login's cookie as text, and never leaves in the sub."""
    host = make_host(key_type)
    with running(host, database_url) as app:
        add_person(host, app, key=key)
        wiki = register_wiki(app, app)
        tokens = sign_in_at(wiki, browser_at(wiki, app), MAIL, PASSWORD)
        claims = wiki.userinfo(tokens).json
        assert claims["email"] == MAIL
        assert str(key) not in claims["sub"]
        assert wiki.refresh(tokens).status == 200


@pytest.mark.parametrize("naming", [None, NAMING_CONVENTION], ids=["unnamed", "named"])
def test_alembic_finds_no_difference_in_fresh_tables(
    naming: dict[str, str] | None, database_url: str
) -> None:
    """Or every `flask db migrate` of the site would bring up our tables again."""
    host = make_host(Uuid(), MetaData(naming_convention=naming))
    with (
        running(host, database_url) as app,
        app.app_context(),
        host.db.engine.connect() as connection,
    ):
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        assert compare_metadata(context, host.db.metadata) == []
