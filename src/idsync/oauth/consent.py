"""What a person agreed to let an application see, remembered until they take it back."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    MetaData,
    String,
    Table,
    Text,
    and_,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from idsync.accounts.record import AccountModels
from idsync.database import DatabaseSession, write


def define_consent_table(metadata: MetaData, models: AccountModels) -> Table:
    """`idsync_consent`: one row per person and application."""
    return Table(
        "idsync_consent",
        metadata,
        Column(
            "account_key",
            models.table.c.account_key.type,
            ForeignKey(models.table.c.account_key, ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        Column(
            "client_id",
            String(64),
            ForeignKey("idsync_application.client_id", ondelete="CASCADE"),
            primary_key=True,
        ),
        Column("scope", Text, nullable=False),
        Column("agreed_at", BigInteger, nullable=False),
    )


class Consents:
    """Remembered consent in the database."""

    def __init__(self, session: DatabaseSession, table: Table) -> None:
        self._session = session
        self._table = table

    def scopes(self, account_key: Any, client_id: str) -> frozenset[str]:
        """The scopes a person agreed to for an application."""
        scope = self._session.connection().execute(self._select(account_key, client_id)).scalar()
        return frozenset((scope or "").split())

    def remember(self, account_key: Any, client_id: str, scopes: tuple[str, ...]) -> None:
        """Add scopes to what a person agreed to, and commit."""

        def work(connection: Connection) -> None:
            table, now = self._table, int(time.time())
            known = connection.execute(
                self._select(account_key, client_id).with_for_update()
            ).scalar()
            both = " ".join(sorted({*(known or "").split(), *scopes}))
            if known is None:
                connection.execute(
                    insert(table),
                    {
                        "account_key": account_key,
                        "client_id": client_id,
                        "scope": both,
                        "agreed_at": now,
                    },
                )
            else:
                connection.execute(
                    update(table)
                    .where(self._is(account_key, client_id))
                    .values(scope=both, agreed_at=now)
                )

        try:
            write(self._session, work)
        except IntegrityError:
            # Two forms sent at once: the other one made the row, so this one finds it.
            write(self._session, work)

    def _select(self, account_key: Any, client_id: str) -> Any:
        return select(self._table.c.scope).where(self._is(account_key, client_id))

    def _is(self, account_key: Any, client_id: str) -> Any:
        return and_(self._table.c.account_key == account_key, self._table.c.client_id == client_id)
