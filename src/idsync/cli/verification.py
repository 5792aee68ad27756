"""What `directory verify` looks for, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import exists, select

from idsync.accounts.adoption import Adoption
from idsync.accounts.names import name_key
from idsync.accounts.rules import email_key


def problems(session: Any, parts: Any) -> Iterator[str | None]:
    """A sentence for each problem, and None for each row that is sound."""
    models, table = parts.models, parts.models.table
    missing = Adoption(session, models).missing()
    if missing:
        yield f"{missing} people have no row in the directory: run `flask idsync adopt`."
    orphans = session.connection().execute(
        select(table.c.subject).where(
            ~exists().where(models.user_key == table.c.account_key).correlate(table)
        )
    )
    for row in orphans:
        yield f"{row.subject}: its user was deleted by raw SQL; erase it with the same."
    revision = parts.revisions.current(session)[1]
    rows = session.connection().execute(
        select(
            table, models.user_email.label("its_email"), models.user_name.label("its_name")
        ).join(models.user_key.table, models.user_key == table.c.account_key),
        execution_options={"yield_per": 500},
    )
    for row in rows:
        yield from _problems_of(row, revision)
        yield None
    for table, column, subject, purpose, _ in parts.sealed_columns:
        yield from parts.sealing_keys.unopenable(table, column, subject, purpose)


def _problems_of(row: Any, revision: int) -> Iterator[str]:
    if row.revision > revision:
        yield f"{row.subject}: its revision is ahead of the counter; run `flask idsync restored`."
    if row.email_key is not None and row.email_key != email_key(row.its_email or ""):
        yield f"{row.subject}: the e-mail was changed by raw SQL; change it once more by a form."
    if row.name_key != name_key(row.its_name):
        yield f"{row.subject}: the name was changed by raw SQL; run `flask idsync adopt`."
