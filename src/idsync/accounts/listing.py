"""Reading the directory in order: accounts by tag, what changed since a revision, what went.

Each answer is one statement that includes the counter, so it is one snapshot on every database, and
is read as a stream.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    Result,
    Table,
    Text,
    cast,
    exists,
    false,
    func,
    null,
    select,
    true,
    type_coerce,
    union_all,
)
from sqlalchemy.dialects.postgresql import JSONB

from idsync.accounts.record import AccountModels
from idsync.database import DatabaseSession

CHUNK = 1000
"""Rows fetched at a time."""


class Listed(NamedTuple):
    """A row of a list, as the database gives it: a million of them are not worth an object each.

    matches: false where the account is gone, or lost the tag; then only `subject` is of use.
    tags: JSON text. password: the sealed verifier.
    """

    subject: str
    matches: bool
    name: str | None
    email: str | None
    tags: str
    disabled_by: str | None
    mfa: bool
    administrator: bool
    password: bytes | None
    updated_at: dt.datetime


class Page:
    """A list being read, once; incarnation and revision are known from the start.

    Its rows begin with the directory's two columns, then come those of `Listed`; a row without a
    subject is no account. Whoever reads it closes it.
    """

    def __init__(self, result: Result[Any]) -> None:
        self._result = result
        self._chunks: Iterator[Sequence[Any]] = result.partitions()
        self._first: Sequence[Any] = next(self._chunks, ())
        self.incarnation: bytes = self._first[0][0] if self._first else b""
        self.revision: int = self._first[0][1] if self._first else 0

    def chunks(self) -> Iterator[Sequence[Any]]:
        """The rows, some at a time."""
        yield self._first
        yield from self._chunks

    def close(self) -> None:
        """End the reading, also in the middle."""
        self._result.close()


class Listing:
    """Reads accounts for those who follow the directory."""

    def __init__(
        self, session: DatabaseSession, models: AccountModels, directory: Table, erased: Table
    ) -> None:
        self._session = session
        self._models = models
        self._directory = directory
        self._erased = erased

    def read(self, revision: int, tag: str | None = None) -> Page:
        """All changes after `revision`; with 0, every account that matches the tag."""
        result = self._session.connection().execute(
            self._statement(revision, tag), execution_options={"yield_per": CHUNK}
        )
        return Page(result)

    def find(self, subject: str) -> Listed | None:
        """One account as it would be listed."""
        table = self._models.table
        statement = select(*self._columns(true())).join_from(
            table, self._models.user_key.table, table.c.account_key == self._models.user_key
        )
        row = (
            self._session.connection().execute(statement.where(table.c.subject == subject)).first()
        )
        return None if row is None else Listed(*row)

    def _statement(self, revision: int, tag: str | None) -> Any:
        table, directory = self._models.table, self._directory
        matches = true() if tag is None else has_tag(self._session, self._models, tag)
        wanted = table.c.revision > revision
        if revision == 0:
            wanted &= matches  # a whole list: nothing that was never held can be removed
        columns, users = self._columns(matches), self._models.user_key.table
        now = (directory.c.incarnation, directory.c.revision.label("now"))
        nothing = [null() for _ in columns]
        # The first row is there also where no account is. An outer join would say the same, but
        # SQLite writes the inner one of two joins to disk before it gives a row.
        parts = [
            select(*now, *columns)
            .select_from(directory)
            .join(table, wanted)
            .join(users, table.c.account_key == self._models.user_key),
            select(*now, *nothing),
        ]
        if revision:
            gone = self._erased.c
            parts.append(
                select(*now, gone.subject, false(), *nothing[2:])
                .select_from(directory)
                .join(self._erased, gone.revision > revision)
            )
        return union_all(*parts)

    def _columns(self, matches: Any) -> list[Any]:
        """Those of `Listed`, in its order."""
        table = self._models.table.c
        return [
            table.subject,
            matches.label("matches"),
            self._models.user_name.label("account_name"),
            self._models.user_email.label("account_email"),
            self._as_text(table.tags).label("account_tags"),
            table.disabled_by,
            table.mfa,
            table.administrator,
            table.password,
            table.updated_at,
        ]

    def _as_text(self, column: Any) -> Any:
        """JSON unread: most accounts have the same tags as another, so reading all is a waste."""
        if self._session.connection().dialect.name == "postgresql":
            return cast(column, Text)
        return type_coerce(column, Text)


def has_tag(session: DatabaseSession, models: AccountModels, tag: str) -> Any:
    """The condition, in a statement, that an account has this tag."""
    tags = models.table.c.tags
    if session.connection().dialect.name == "postgresql":
        return type_coerce(tags, JSONB).contains([tag])
    each = func.json_each(tags).table_valued("value")
    return exists().where(each.c.value == tag).correlate(models.table)
