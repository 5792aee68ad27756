"""A service keeps the accounts in a user table of its own."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import pytest
import sqlalchemy as sa

import hosting
from consumer_kit import CHEAP, Consumer, directory
from idsync.consumer import Account, CopyStore, LocalCopy, Verdict, Written, admit
from idsync.consumer.account import email_key
from live import LiveHost


class WikiUsers:
    """The six methods, over a table that has columns of the service's besides."""

    def __init__(self, metadata: sa.MetaData) -> None:
        self.table = sa.Table(
            "wiki_user",
            metadata,
            sa.Column("number", sa.Integer, primary_key=True),
            sa.Column("signature", sa.Text, nullable=False, default="Regards"),
            sa.Column("id", sa.Text, unique=True),
            *(sa.Column(name, sa.Text) for name in ("name", "email", "login", "password")),
            sa.Column("tags", sa.JSON),
            sa.Column("roles", sa.JSON),
            sa.Column("disabled", sa.Boolean),
            sa.Column("mfa", sa.Boolean),
            sa.Column("updated_at", sa.DateTime),
            sa.Column("generation", sa.Integer),
        )

    def write(
        self, connection: sa.Connection, accounts: Sequence[Account], generation: int
    ) -> Written:
        written = Written([], [])
        for account in accounts:
            before = self.by_id(connection, account.id)
            values = {
                **asdict(account),
                "login": email_key(account.email or ""),
                "generation": generation,
            }
            if before is None:
                connection.execute(sa.insert(self.table).values(**values))
                written.added.append(account.id)
                continue
            own = self.table.c.id == account.id
            connection.execute(sa.update(self.table).where(own).values(**values))
            if before != account:
                written.changed.append(account.id)
        return written

    def remove(self, connection: sa.Connection, ids: Sequence[str]) -> list[str]:
        there = [id for id in ids if self.by_id(connection, id) is not None]
        connection.execute(sa.delete(self.table).where(self.table.c.id.in_(there)))
        return there

    def remove_older(self, connection: sa.Connection, generation: int) -> int:
        older = sa.delete(self.table).where(self.table.c.generation < generation)
        return connection.execute(older).rowcount

    def by_email(self, connection: sa.Connection, email: str) -> Account | None:
        return self._find(connection, self.table.c.login == email_key(email))

    def by_id(self, connection: sa.Connection, id: str) -> Account | None:
        return self._find(connection, self.table.c.id == id)

    def count(self, connection: sa.Connection) -> int:
        return connection.scalar(sa.select(sa.func.count(self.table.c.id))) or 0

    def _find(self, connection: sa.Connection, where: Any) -> Account | None:
        row = connection.execute(sa.select(self.table).where(where)).mappings().one_or_none()
        if row is None:
            return None
        values = {name: row[name] for name in Account.__slots__}
        return Account(**{**values, "tags": tuple(row["tags"]), "roles": tuple(row["roles"])})


@pytest.fixture
def engine(copy_url: str) -> Iterator[sa.Engine]:
    made = sa.create_engine(copy_url)
    yield made
    made.dispose()


def test_it_is_kept_like_ours(host: LiveHost, wiki: Consumer, engine: sa.Engine) -> None:
    """Pulled, changed, emptied and asked; the service's own columns stay."""
    metadata = sa.MetaData()
    users = WikiUsers(metadata)
    metadata.create_all(engine)
    store = CopyStore(engine, users)
    store.create_tables()
    copy = LocalCopy(wiki.api, store, service_tag=wiki.tag, iterations=CHEAP, prompt_interval=0)
    created = copy.create("Ada", f"ada@{wiki.tag}.example.org", "pass word")
    bob = hosting.add_person(host.app, "Bob", f"bob@{wiki.tag}.example.org", "pass word")
    assert copy.pull().complete
    with engine.begin() as connection:
        connection.execute(sa.update(users.table).values(signature="Yours"))
    wiki.api.change(bob.id, tags_add=[wiki.tag])
    copy.change(created.account.id, name="Ada L.")
    assert copy.pull().added == 1
    assert admit(copy, bob.email, "pass word").verdict is Verdict.ADMITTED
    with engine.connect() as connection:
        rows = connection.execute(
            sa.select(users.table.c.name, users.table.c.signature).order_by(users.table.c.name)
        ).all()
        kept = {id: users.by_id(connection, id) for id in directory(wiki)}
    assert [tuple(row) for row in rows] == [("Ada L.", "Yours"), ("Bob", "Regards")]
    assert kept == directory(wiki)
    copy.change(bob.id, tags_remove=[wiki.tag])
    hosting.run(host.app, "idsync", "restored")
    copy.pull()
    assert store.count() == 1
