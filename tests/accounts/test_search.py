"""Searching accounts by how a name, an address or an id begins."""

import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import flask_migrate
import pytest
from flask import Flask
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

import hosting
from account_api.many import fill
from explaining import explained
from host_app.models import User, db, identity
from idsync.accounts.change import Change
from idsync.accounts.directory import Directory
from idsync.audit.events import COMMAND
from idsync.errors import InvalidValue

# As revision 0001 has them.
PERSON = text("INSERT INTO person VALUES (:key, :name, NULL, '2026-01-01')")
ACCOUNT = text(
    "INSERT INTO idsync_account (account_key, subject, legacy_password, email_verified, tags, mfa,"
    " administrator, epoch, revision, updated_at)"
    " VALUES (:key, :subject, false, false, '[]', false, false, :epoch, 0, '2026-01-01')"
)

EVERY_ROW = r"Seq Scan|SCAN idsync_account(?! USING INDEX)|SCAN person"

PEOPLE = [
    ("Ada Lovelace", "ada@example.org", "p1"),
    ("ADAM", "eve@example.org", "p2"),
    ("Ärger", "adalbert@example.org", "p3"),
    ("Straße", None, "ada-4"),
    ("Ада", "x@example.org", "p5"),
    ("100% _real_", "percent@example.org", "p6"),
]


@pytest.fixture
def directory(app: Flask) -> Iterator[Directory]:
    with app.app_context():
        for name, email, subject in PEOPLE:
            identity.directory.add(actor=COMMAND, name=name, email=email, subject=subject)
        db.session.commit()
        yield identity.directory


def found(directory: Directory, prefix: str = "", **wanted: Any) -> list[str]:
    return [one.subject for one in directory.search(prefix, **wanted).accounts]


def test_a_name_an_address_or_an_id_is_found_by_its_beginning(directory: Directory) -> None:
    """Names first, then addresses, both without case, then ids; each account once."""
    assert found(directory, "ADA") == ["p1", "p2", "p3"]
    assert found(directory, "ada") == ["p1", "p2", "p3", "ada-4"]
    assert found(directory, "STRASSE") == ["ada-4"]
    assert found(directory, "ада") == ["p5"]
    assert found(directory, "lovelace") == []
    assert found(directory, "p5") == ["p5"]
    assert found(directory, "P5") == []


def test_signs_of_patterns_are_letters_like_others(directory: Directory) -> None:
    """Nothing is a pattern: not a per cent sign, an underscore, a backslash."""
    assert found(directory, "100% _r") == ["p6"]
    assert found(directory, "%") == []
    assert found(directory, "_") == []
    assert found(directory, "\\") == []


@pytest.mark.parametrize("prefix", ["\0", "a\0", "\ud800", "x" * 5000, "'; DROP TABLE person"])
def test_what_no_account_can_have_finds_none(directory: Directory, prefix: str) -> None:
    """And fails nowhere, also as a tag."""
    assert found(directory, prefix) == []
    assert found(directory, tag=prefix) == []


def test_without_a_beginning_all_are_listed_by_name(directory: Directory) -> None:
    """In the order of the folded names."""
    assert found(directory) == ["p6", "p1", "p2", "ada-4", "p3", "p5"]
    assert found(directory, "  ") == found(directory)


def test_tag_and_disabled_narrow_a_search(directory: Directory) -> None:
    """Both hold together with the beginning."""
    for subject, change in (
        ("p1", Change(tags_add=("wiki",))),
        ("p3", Change(tags_add=("wiki", "é"), disabled=True)),
        ("p5", Change(tags_add=("wiki",))),
    ):
        directory.change(subject, change, actor=COMMAND)
    db.session.commit()
    assert found(directory, tag="wiki") == ["p1", "p3", "p5"]
    assert found(directory, tag="WIKI") == []
    assert found(directory, tag=unicodedata.normalize("NFD", "é")) == ["p3"]
    assert found(directory, "ada", tag="wiki") == ["p1", "p3"]
    assert found(directory, "ada", tag="wiki", disabled=False) == ["p1"]
    assert found(directory, disabled=True) == ["p3"]


def test_pages_join_without_gap_or_repetition(directory: Directory) -> None:
    """Whatever their length, across the three kinds of matches; the last one says so."""
    for prefix in ("", "ada", "p"):
        everybody = found(directory, prefix)
        for limit in (1, 2, 3, 5, 6, 7):
            gathered: list[str] = []
            after = None
            while True:
                page = directory.search(prefix, after=after, limit=limit)
                assert len(page.accounts) <= limit
                gathered += [one.subject for one in page.accounts]
                after = page.after
                if after is None:
                    break
            assert gathered == everybody


def test_who_comes_meanwhile_moves_no_page(directory: Directory) -> None:
    """A page begins behind the last one seen, not at a number."""
    first = directory.search(limit=3)
    directory.add(actor=COMMAND, name="Aaron", subject="new")
    assert found(directory, after=first.after) == ["ada-4", "p3", "p5"]


@pytest.mark.parametrize(
    "after",
    [
        "",
        "x",
        "!",
        "W10",
        "WzksImEiLCJiIl0",
        "WzAsMSwyXQ",
        "bnVsbA",
        "WzAsICJcdTAwMDAiLCAiYSJd",
        "W1tb" * 2000,
    ],
)
def test_an_end_of_a_page_that_is_none_is_refused(directory: Directory, after: str) -> None:
    """A changed address in the browser is no failure of the service."""
    with pytest.raises(InvalidValue) as refused:
        directory.search(after=after)
    assert refused.value.field == "after"


@given(after=st.text())
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
def test_any_text_is_a_page_or_refused(directory: Directory, after: str) -> None:
    """Nothing else is raised."""
    with suppress(InvalidValue):
        directory.search("a", after=after)


def test_a_name_is_found_as_soon_as_it_changes(directory: Directory) -> None:
    """By the directory, by the site's own code, and by raw SQL that was told of."""
    directory.change("p1", Change(name="Zoe"), actor=COMMAND)
    db.session.commit()
    assert found(directory, "zoe") == ["p1"]
    user = directory.user_by_email("eve@example.org")
    user.name = "Zora"
    db.session.commit()
    assert found(directory, "zo") == ["p1", "p2"]
    db.session.add(User(name="ZORRO", email=None))
    db.session.commit()
    assert len(found(directory, "zorr")) == 1
    db.session.execute(text("UPDATE person SET name = 'Zulu' WHERE id = :id"), {"id": user.id})
    identity.touch([user.id])
    db.session.commit()
    assert found(directory, "zulu") == ["p2"]
    assert found(directory, "zora") == []


def test_names_of_a_sites_own_migration_are_folded_by_adopt(
    app: Flask, directory: Directory
) -> None:
    """Its migration adds the column empty; `directory verify` says so until `adopt` was run."""
    db.session.execute(text("UPDATE idsync_account SET name_key = ''"))
    db.session.commit()
    result = app.test_cli_runner().invoke(args=["idsync", "directory", "verify"])
    assert result.exit_code == 1
    assert "p1: the name" in result.output
    assert "adopt" in result.output
    assert hosting.run(app, "idsync", "adopt", "--json")["names"] == len(PEOPLE)
    assert found(directory, "ada") == ["p1", "p2", "p3", "ada-4"]
    assert "sound" in hosting.run(app, "idsync", "directory", "verify")
    assert hosting.run(app, "idsync", "adopt", "--json")["names"] == 0


def test_the_migration_folds_the_names_that_are_there(database_url: str) -> None:
    """Whoever upgrades finds everybody at once; and it can be taken back."""
    config = hosting.configuration(database_url)
    with hosting.host(config) as app, app.app_context():
        flask_migrate.upgrade(revision="0001")
        for key, name in ((1, "ÉLODIE"), (2, "bo")):
            db.session.execute(PERSON, {"key": key, "name": name})
            db.session.execute(ACCOUNT, {"key": key, "subject": f"p{key}", "epoch": bytes(8)})
        db.session.commit()
        flask_migrate.upgrade()
        assert found(identity.directory, "élo") == ["p1"]
        db.session.commit()
        flask_migrate.downgrade(revision="0001")
        flask_migrate.upgrade()
        assert found(identity.directory, "B") == ["p2"]


def test_a_search_reads_an_index(app: Flask) -> None:
    """A full page comes out of one in its order, so a million accounts cost no more than these."""
    fill(app, 20_000)
    with app.app_context():
        for prefix, index in (
            ("", "ix_idsync_account_name_key"),
            ("ада лавлейс", "ix_idsync_account_name_key"),
            ("person", "account_email_key|sqlite_autoindex"),
        ):
            page = identity.directory.search(prefix, limit=20)
            for after in (None, page.after):
                *_, plan = explained(
                    db.engine,
                    lambda p=prefix, a=after: identity.directory.search(p, limit=20, after=a),
                )
                assert re.search(index, plan), plan
                assert not re.search(rf"Sort|TEMP B-TREE|{EVERY_ROW}", plan), plan
        rare = explained(db.engine, lambda: identity.directory.search("person777", limit=20))
        assert len(rare) == 3
        for plan in rare:
            assert not re.search(EVERY_ROW, plan), plan


def test_a_long_name_is_found_by_its_first_64_characters(directory: Directory) -> None:
    """What is typed beyond them does not matter; a letter that folds to three is no failure."""
    directory.add(actor=COMMAND, name="\ufdfa" * 200, subject="long")
    directory.add(actor=COMMAND, name="n" * 200, subject="n")
    assert found(directory, "N" * 64) == found(directory, "n" * 100) == ["n"]
    assert found(directory, "\ufdfa" * 3) == ["long"]
