"""A populated site that has the tables of an older idsync, and lets Alembic find what is new."""

import importlib.util
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.pool import NullPool

import databases
from existing_site.browser import Wiki, sign_in_at
from existing_site.running import OldSite, password_of
from live import REPOSITORY

ADA = "ada@example.org"
# Of the reference host, newest first; those that change what is idsync's. They are the only record
# of what older versions had.
NEWER = (
    "0005_pull_steps",
    "0004_logout_notices",
    "0003_audit_and_search",
)


@pytest.fixture(scope="module")
def site(
    database_server: str | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OldSite]:
    """With people in it, before idsync."""
    folder = tmp_path_factory.mktemp("older_site")
    if database_server is None:
        url = databases.sqlite_url(folder)
    else:
        databases.empty_postgresql(database_server)
        url = database_server
    with closing(OldSite(folder / "site", url)) as site:
        site.run("flask", "db", "upgrade")
        site.add_people()
        yield site


def revision_of(name: str) -> ModuleType:
    file = REPOSITORY / "host_app" / "migrations" / "versions" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_older(site: OldSite) -> None:
    """Take back what newer versions of idsync added, in the site's own database."""
    url = site._engine.url.render_as_string(hide_password=False)
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
        operations = Operations(MigrationContext.configure(connection))
        with Operations.context(operations.migration_context):
            for name in NEWER:
                revision_of(name).downgrade()
    engine.dispose()


def tables(site: OldSite) -> dict[str, list[str]]:
    """The columns of each table."""
    known = inspect(site._engine)
    return {
        name: sorted(column["name"] for column in known.get_columns(name))
        for name in known.get_table_names()
    }


def rows_of(site: OldSite, columns: dict[str, list[str]]) -> dict[str, list[tuple[object, ...]]]:
    """Everything in these columns."""
    with site._engine.connect() as connection:
        return {
            name: sorted(
                tuple(map(str, row))
                for row in connection.execute(
                    text(f"SELECT {', '.join(names)} FROM {name}")  # noqa: S608
                )
            )
            for name, names in columns.items()
            if name != "alembic_version"
        }


def newest_migration(site: OldSite, before: set[Path]) -> str:
    (made,) = set((site.folder / "migrations" / "versions").glob("*.py")) - before
    return made.read_text(encoding="utf-8")


def test_alembic_adds_what_is_new_and_loses_nothing(site: OldSite) -> None:
    """`flask db migrate` and `flask db upgrade`, as the operator of any site does it."""
    printed = site.follow_the_guide()
    credentials = dict(line.split() for line in printed[-1].splitlines())
    whole = tables(site)
    with site.served():
        wiki, browser = site.wiki(**credentials), site.browser()
        tokens = sign_in_at(wiki, browser, ADA, password_of(ADA))
    make_older(site)
    older = tables(site)
    before = rows_of(site, older)
    assert older != whole
    assert before["idsync_grant"]

    files = set((site.folder / "migrations" / "versions").glob("*.py"))
    site.run("flask", "db", "migrate", "-m", "newer idsync")
    upgrade = newest_migration(site, files).partition("def downgrade")[0]
    assert re.findall(r"\bop\.drop_table|\.drop_column|\.drop_constraint", upgrade) == []
    # An index that became a longer one of the same name is made anew.
    dropped = set(re.findall(r"drop_index\((?:batch_op\.f\()?'(\w+)'", upgrade))
    assert dropped <= set(re.findall(r"create_index\((?:batch_op\.f\()?'(\w+)'", upgrade))
    site.run("flask", "db", "upgrade")
    site.run("flask", "db", "check")
    assert tables(site) == whole
    assert rows_of(site, older) == before

    site.run("flask", "idsync", "adopt")
    site.run("flask", "idsync", "directory", "verify")
    with site.served():
        goes_on(site, site.wiki(**credentials), tokens)


def goes_on(site: OldSite, wiki: Wiki, tokens: dict[str, str]) -> None:
    """Tokens from before work, passwords do, and a session is told by the same name."""
    assert wiki.userinfo(tokens).json["name"] == "Ada Lovelace"
    refreshed = wiki.refresh(tokens)
    assert refreshed.status == 200
    before, after = (wiki.claims(one["id_token"])["sid"] for one in (tokens, refreshed.json))
    assert before == after
    page = site.browser().sign_in("/login", ADA, password_of(ADA))
    assert "Welcome, Ada Lovelace" in page.text
    rower = "rower1@example.org"
    assert sign_in_at(wiki, site.browser(), rower, password_of(rower))["access_token"]
