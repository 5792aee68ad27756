"""Where the copied accounts are kept: the protocol, and the table used unless a service has one.

A service that has a user table of its own writes a class with the methods of `People` and gives
it to `CopyStore`; claims, cursor and transactions stay with the store.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy import Connection

from idsync.consumer.account import Account, email_key, to_json


@dataclass(frozen=True, slots=True)
class Written:
    """The ids that were new, and the ids of those that were different before."""

    added: list[str]
    changed: list[str]


class People(Protocol):
    """Where accounts are kept. Every method works on the connection it is given and never commits.

    A generation counts the pulls. Whoever was not written in the latest generation when a whole
    list has been read is not in that list, and `remove_older` removes them.
    """

    def write(
        self, connection: Connection, accounts: Sequence[Account], generation: int
    ) -> Written:
        """Insert or update these (some hundred, each id once) and mark them with the generation."""

    def remove(self, connection: Connection, ids: Sequence[str]) -> list[str]:
        """Remove these (some hundred) where they are there; give the ids that were."""

    def remove_older(self, connection: Connection, generation: int) -> int:
        """Remove all with an older generation; give how many."""

    def by_email(self, connection: Connection, email: str) -> Account | None:
        """The one account with this e-mail address, compared as `email_key` does."""

    def by_id(self, connection: Connection, id: str) -> Account | None:
        """The account with this id."""

    def count(self, connection: Connection) -> int:
        """How many there are."""


class CopiedPeople:
    """The table `idsync_copy_account`."""

    def __init__(self, metadata: sa.MetaData) -> None:
        self.table = sa.Table(
            "idsync_copy_account",
            metadata,
            sa.Column("id", sa.Text, primary_key=True),
            sa.Column("name", sa.Text, nullable=False),
            sa.Column("email", sa.Text),
            sa.Column("tags", sa.Text, nullable=False),
            sa.Column("roles", sa.Text, nullable=False),
            sa.Column("disabled", sa.Boolean, nullable=False),
            sa.Column("mfa", sa.Boolean, nullable=False),
            sa.Column("password", sa.Text),
            sa.Column("updated_at", sa.DateTime, nullable=False),
            # Not unique: two people may swap addresses, and one row is written before the other.
            sa.Column("email_key", sa.Text, index=True),
            sa.Column("generation", sa.BigInteger, nullable=False, index=True),
        )
        fields = [self.table.c[name] for name in _FIELDS]
        self._read = sa.select(*fields)

    def write(
        self, connection: Connection, accounts: Sequence[Account], generation: int
    ) -> Written:
        """See `People`."""
        ids = [account.id for account in accounts]
        before = {
            row.id: tuple(row)
            for row in connection.execute(self._read.where(self.table.c.id.in_(ids)))
        }
        rows = {account.id: _to_row(account) for account in accounts}
        added = [id for id in rows if id not in before]
        changed = [id for id, row in rows.items() if id in before and before[id] != row]
        same = [id for id, row in rows.items() if before.get(id) == row]
        if added:
            connection.execute(
                sa.insert(self.table), [_to_values(rows[id], generation) for id in added]
            )
        if changed:
            connection.execute(
                sa.update(self.table).where(self.table.c.id == sa.bindparam("own_id")),
                [{"own_id": id, **_to_values(rows[id], generation)} for id in changed],
            )
        if same:
            connection.execute(
                sa.update(self.table).where(self.table.c.id.in_(same)).values(generation=generation)
            )
        return Written(added, changed)

    def remove(self, connection: Connection, ids: Sequence[str]) -> list[str]:
        """See `People`."""
        among = self.table.c.id.in_(ids)
        there = list(connection.scalars(sa.select(self.table.c.id).where(among)))
        connection.execute(sa.delete(self.table).where(among))
        return there

    def remove_older(self, connection: Connection, generation: int) -> int:
        """See `People`."""
        older = self.table.c.generation < generation
        return connection.execute(sa.delete(self.table).where(older)).rowcount

    def by_email(self, connection: Connection, email: str) -> Account | None:
        """See `People`."""
        same = self.table.c.email_key == email_key(email)
        found = connection.execute(self._read.where(same).limit(2)).all()
        return _to_account(found[0]) if len(found) == 1 else None

    def by_id(self, connection: Connection, id: str) -> Account | None:
        """See `People`."""
        found = connection.execute(self._read.where(self.table.c.id == id)).one_or_none()
        return None if found is None else _to_account(found)

    def count(self, connection: Connection) -> int:
        """See `People`."""
        return connection.scalar(sa.select(sa.func.count()).select_from(self.table)) or 0


# In the order of the fields of Account.
_FIELDS = ("id", "name", "email", "tags", "roles", "disabled", "mfa", "password", "updated_at")


def _to_row(account: Account) -> tuple[Any, ...]:
    return (
        account.id,
        account.name,
        account.email,
        to_json(account.tags),
        to_json(account.roles),
        account.disabled,
        account.mfa,
        account.password,
        account.updated_at,
    )


def _to_values(row: tuple[Any, ...], generation: int) -> dict[str, Any]:
    values = dict(zip(_FIELDS, row, strict=True))
    email = values["email"]
    values["email_key"] = None if email is None else email_key(email)
    return {**values, "generation": generation}


def _to_account(row: sa.Row[Any]) -> Account:
    id, name, email, tags, roles, disabled, mfa, password, updated_at = tuple(row)
    return Account(
        id=id,
        name=name,
        email=email,
        tags=tuple(json.loads(tags)),
        roles=tuple(json.loads(roles)),
        disabled=disabled,
        mfa=mfa,
        password=password,
        updated_at=updated_at,
    )
