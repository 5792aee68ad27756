"""Which applications a person has connected: what each may see, since when, and last used."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, delete, func, select, update

from idsync.audit.events import Actor, Audit
from idsync.database import DatabaseSession, write
from idsync.oauth.pages import SCOPE_TEXTS


@dataclass(frozen=True, slots=True)
class ConnectedApplication:
    """An application as the person sees it. Times are unix seconds; last_used None: never."""

    client_id: str
    name: str
    scopes: tuple[str, ...]
    since: int
    last_used: int | None

    @property
    def rights(self) -> list[str]:
        """What it may do, in words to be translated."""
        return [text for scope, text in SCOPE_TEXTS.items() if scope in self.scopes]


class Connections:
    """Connected applications, from remembered consent and living grants."""

    def __init__(
        self,
        session: DatabaseSession,
        grants: Table,
        consents: Table,
        applications: Table,
        accounts: Table,
        audit: Audit,
    ) -> None:
        self._session = session
        self._accounts = accounts
        self._grants = grants
        self._consents = consents
        self._applications = applications
        self._audit = audit

    def of(self, account_key: Any) -> list[ConnectedApplication]:
        """The applications of one account, by name."""
        connection = self._session.connection()
        grants, consents, applications = self._grants.c, self._consents.c, self._applications.c
        agreed = connection.execute(
            select(consents.client_id, applications.name, consents.scope, consents.agreed_at)
            .join(self._applications, applications.client_id == consents.client_id)
            .where(consents.account_key == account_key)
        )
        used = connection.execute(
            select(
                grants.client_id,
                applications.name,
                grants.scope,
                func.min(grants.issued_at).label("since"),
                func.max(func.coalesce(grants.refreshed_at, grants.redeemed_at)).label("used"),
            )
            .join(self._applications, applications.client_id == grants.client_id)
            .join(self._accounts, self._accounts.c.account_key == grants.account_key)
            .where(
                grants.account_key == account_key,
                grants.epoch == self._accounts.c.epoch,
                grants.redeemed_at.is_not(None),
                grants.revoked_at.is_(None),
                grants.expires_at > int(time.time()),
            )
            .group_by(grants.client_id, applications.name, grants.scope)
        )
        found: dict[str, ConnectedApplication] = {
            row.client_id: ConnectedApplication(
                row.client_id, row.name, tuple(row.scope.split()), row.agreed_at, None
            )
            for row in agreed
        }
        for row in used:
            known = found.get(row.client_id)
            scopes = {*row.scope.split(), *(known.scopes if known else ())}
            last_used = max(row.used, known.last_used or 0) if known else row.used
            since = min(row.since, known.since) if known else row.since
            found[row.client_id] = ConnectedApplication(
                row.client_id, row.name, tuple(sorted(scopes)), since, last_used
            )
        return sorted(found.values(), key=lambda one: (one.name.casefold(), one.client_id))

    def disconnect(self, account_key: Any, subject: str, client_id: str) -> None:
        """End every grant of an application at the person's wish, forget the consent, commit."""
        grants, consents = self._grants, self._consents

        def work(connection: Connection) -> None:
            connection.execute(
                update(grants)
                .where(
                    grants.c.account_key == account_key,
                    grants.c.client_id == client_id,
                    grants.c.revoked_at.is_(None),
                )
                .values(revoked_at=int(time.time()))
            )
            connection.execute(
                delete(consents).where(
                    consents.c.account_key == account_key, consents.c.client_id == client_id
                )
            )
            self._audit.record(
                "application disconnected",
                Actor("person", subject),
                subject=subject,
                client_id=client_id,
            )

        write(self._session, work)
