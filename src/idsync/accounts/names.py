"""The folded form of a name, by which accounts are searched, kept beside the host's own column."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from idsync.accounts.record import AccountModels
from idsync.accounts.rules import LONGEST_NAME_KEY
from idsync.database import DatabaseSession, write

BATCH = 1000
"""Names folded in one transaction."""


def name_key(name: str | None) -> str:
    """A name without case, canonically composed; its beginning is enough to search by."""
    return unicodedata.normalize("NFKC", (name or "").strip()).casefold()[:LONGEST_NAME_KEY]


def fold_names(connection: Connection, models: AccountModels, keys: Iterable[Any]) -> None:
    """Fold the names of some accounts anew, after they were changed by other means than the ORM."""
    rows = connection.execute(_names(models).where(models.table.c.account_key.in_(list(keys))))
    _fold(connection, models, rows.all())


def fold_all_names(session: DatabaseSession, models: AccountModels) -> Iterator[int]:
    """Fold every name that is out of step; yields how many, batch by batch, each committed."""
    account_key = models.table.c.account_key
    statement = _names(models).order_by(account_key).limit(BATCH)
    page = statement
    while rows := session.connection().execute(page).all():
        yield write(session, lambda connection, rows=rows: _fold(connection, models, rows))  # type: ignore[misc]
        page = statement.where(account_key > rows[-1].account_key)


def _names(models: AccountModels) -> Any:
    table = models.table.c
    return select(
        table.account_key, table.name_key, models.user_name.label("account_name")
    ).join_from(models.table, models.user_key.table, table.account_key == models.user_key)


def _fold(connection: Connection, models: AccountModels, rows: Iterable[Any]) -> int:
    """Write where the key is still the one that was read: a name changed since has a new one."""
    table = models.table
    changes = [
        {"its": row.account_key, "old": row.name_key, "new": key}
        for row in rows
        if (key := name_key(row.account_name)) != row.name_key
    ]
    if changes:
        connection.execute(
            update(table)
            .where(table.c.account_key == bindparam("its"), table.c.name_key == bindparam("old"))
            .values(name_key=bindparam("new")),
            changes,
        )
    return len(changes)
