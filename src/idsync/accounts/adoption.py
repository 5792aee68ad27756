"""Taking an existing site's people into the directory: companion rows in batches, resumable."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from sqlalchemy import exists, func, select

from idsync.accounts.record import AccountModels, new_record
from idsync.accounts.rules import email_key
from idsync.audit.events import Actor, Audit, Occurrence
from idsync.database import DatabaseSession, begin_write

BATCH = 500
"""People adopted in one transaction."""


class Adoption:
    """Makes the companion rows that are missing."""

    def __init__(self, session: DatabaseSession, models: AccountModels) -> None:
        self._session = session
        self._models = models

    def missing(self) -> int:
        """How many of the host's people have no companion row."""
        statement = select(func.count()).select_from(self._models.user_class)
        return int(self._session.execute(statement.where(self._has_no_record())).scalar_one())

    def run(self, audit: Audit, actor: Actor) -> Iterator[int]:
        """Adopt everybody who is missing; yields how many, batch by batch, each committed.

        Run again after an interruption: nobody is adopted twice.
        """
        while batch := self._next_batch(audit, actor):
            yield batch

    def ambiguous_emails(self) -> dict[str, list[Any]]:
        """E-mail addresses that differ only by case, with the host's keys of their people.

        The first of them was adopted with the address; the others cannot sign in by it until an
        administrator has changed theirs.
        """
        seen: dict[str, list[Any]] = defaultdict(list)
        rows = self._session.execute(
            select(self._models.user_key, self._models.user_email)
            .where(self._models.user_email.is_not(None))
            .order_by(self._models.user_key)
        )
        for key, email in rows:
            if email:
                seen[email_key(email)].append(key)
        return {email: keys for email, keys in seen.items() if len(keys) > 1}

    def _next_batch(self, audit: Audit, actor: Actor) -> int:
        begin_write(self._session, self._models.table)
        users = self._session.scalars(
            select(self._models.user_class)
            .where(self._has_no_record())
            .order_by(self._models.user_key)
            .limit(BATCH)
            # Two runs at once, or a sign-in meanwhile: each person is taken by one of them.
            .with_for_update(skip_locked=True)
        ).all()
        wanted = {email_key(user.email) for user in users if user.email}
        table = self._models.table.c
        taken = set(
            self._session.connection()
            .execute(select(table.email_key).where(table.email_key.in_(wanted)))
            .scalars()
        )
        adopted = []
        for user in users:
            record = new_record(self._models, user, legacy_password=True)
            key = email_key(user.email) if user.email else None
            if key is not None and key not in taken:
                record.email_key = key
                taken.add(key)
            self._session.add(record)
            adopted.append(Occurrence(record.subject, {}))
        audit.record_all("account adopted", actor, adopted)
        self._session.commit()
        return len(users)

    def _has_no_record(self) -> Any:
        return ~exists().where(self._models.table.c.account_key == self._models.user_key)
