"""What a reader of the directory takes from a list, in memory; nothing here needs pytest."""

import datetime as dt
import json
from contextlib import closing
from dataclasses import dataclass

from idsync.accounts.listing import Listed, Listing


@dataclass(frozen=True)
class ListedAccount:
    """An account in a list. password: the sealed verifier."""

    subject: str
    name: str
    email: str | None
    tags: list[str]
    disabled: bool
    mfa: bool
    administrator: bool
    password: bytes | None
    updated_at: dt.datetime


@dataclass(frozen=True)
class Changes:
    """What a reader at an earlier revision lacks; `removed` are subjects."""

    revision: int
    accounts: list[ListedAccount]
    removed: list[str]


def changes_since(listing: Listing, revision: int, tag: str | None = None) -> Changes:
    """All changes after `revision`; with 0, every account that matches the tag."""
    with closing(listing.read(revision, tag)) as page:
        listed = [Listed(*row[2:]) for rows in page.chunks() for row in rows if row[2] is not None]
    return Changes(
        page.revision,
        [_account(row) for row in listed if row.matches],
        [row.subject for row in listed if not row.matches],
    )


def _account(row: Listed) -> ListedAccount:
    return ListedAccount(
        subject=row.subject,
        name=row.name or "",
        email=row.email or None,
        tags=json.loads(row.tags),
        disabled=row.disabled_by is not None,
        mfa=row.mfa,
        administrator=row.administrator,
        password=row.password,
        updated_at=row.updated_at,
    )
