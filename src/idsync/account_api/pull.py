"""The list: whole, by tag, or what changed since a cursor; written in constant memory.

One statement reads the counter and the accounts, so an answer is one snapshot. It is written to a
temporary file first: a slow reader holds no snapshot, the length is known, and a failure half way
is a proper error instead of half a list.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import IO
from zlib import crc32

import msgspec
from sqlalchemy import text

from idsync.account_api.cursor import Cursor, read_cursor, shape_of
from idsync.account_api.wire import AccountOut
from idsync.accounts.listing import Listed, Listing, Page
from idsync.accounts.passwords import AccountPasswords
from idsync.accounts.revision import Revisions
from idsync.accounts.rules import roles_of
from idsync.audit.events import Actor, Audit
from idsync.crypto.exchange import is_exchange_hash
from idsync.crypto.sealing import SealingKeyMissing, UnsealError
from idsync.database import DatabaseSession, write

log = logging.getLogger("idsync")

IN_MEMORY = 1 << 20
"""Bytes of a list kept in memory; a longer one goes to a file."""

KINDS_OF_PEOPLE = 4096
"""Sets of tags kept read; people with the same tags are many."""

ADVISORY_LOCK = 0x1D5C
"""First key of the PostgreSQL advisory locks that keep an application to one list at a time."""


class ListInProgress(Exception):
    """A whole list is being written for the application already."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the directory is, and where a reader is.

    now: the directory. since: what the reader follows on from; held: what it has, the newest first.
    Cursors from which no changes can be told are left out.
    """

    now: Cursor
    since: Cursor | None
    held: tuple[Cursor, ...]

    @property
    def has(self) -> Cursor | None:
        """What the reader has."""
        return self.since or next(iter(self.held), None)


@dataclass(frozen=True, slots=True)
class Written:
    """A list ready to be sent. `body` is at its start; the caller closes it."""

    body: IO[bytes]
    length: int
    cursor: Cursor


class AccountLists:
    """Writes lists of accounts."""

    def __init__(
        self,
        session: DatabaseSession,
        listing: Listing,
        revisions: Revisions,
        passwords: AccountPasswords,
        audit: Audit,
        role_map: Mapping[str, str],
        *,
        hashes: bool,
    ) -> None:
        self._session = session
        self._listing = listing
        self._revisions = revisions
        self._passwords = passwords
        self._audit = audit
        self._role_map = role_map
        self._hashes = hashes
        self._encoder = msgspec.json.Encoder()
        self._tags_and_roles = lru_cache(KINDS_OF_PEOPLE)(self._read_tags)
        self._busy: set[str] = set()
        self._lock = threading.Lock()

    def standing(
        self, service: Actor, tag: str | None, since: str, held: Iterable[str]
    ) -> Standing:
        """Compare what a reader sent, as `since` and as ETags, with the directory.

        A cursor ahead of the counter comes from before a backup was restored. Then the directory
        is given a new incarnation, so that nobody follows on from what was lost, and the event
        names the service: it may have made the cursor up.
        """
        now = self._now(tag)
        sent = [read_cursor(text) for text in (since, *held)]
        fitting = [one if one is not None and one.fits(now) else None for one in sent]
        if any(one is not None and one.revision > now.revision for one in fitting):
            log.warning(
                "A service has changes that this database lost; it was restored from a backup. "
                "Every service will take the whole list."
            )
            write(self._session, lambda _: self._renew_incarnation(service))
            return Standing(self._now(tag), None, ())
        newest_first = sorted(
            (one for one in fitting[1:] if one is not None),
            key=lambda one: one.revision,
            reverse=True,
        )
        return Standing(now, fitting[0], tuple(newest_first))

    def write(self, client_id: str, tag: str | None, since: Cursor | None) -> Written:
        """Write what changed, or the whole list. Raises ListInProgress for a second whole list.

        Changes are few and asked for at each failed sign-in of a service, so they never wait.
        """
        changes = None if since is None else self._spooled(tag, since)
        if changes is not None:
            return changes
        with self._one_at_a_time(client_id):
            whole = self._spooled(tag, None)
            assert whole is not None  # noqa: S101 - only changes can be impossible to tell
            return whole

    def record(self, row: Listed) -> AccountOut:
        """An account as it travels."""
        return self._record(*row)

    def _renew_incarnation(self, service: Actor) -> None:
        self._revisions.renew_incarnation(self._session)
        self._audit.record("directory restored", service)

    def _spooled(self, tag: str | None, since: Cursor | None) -> Written | None:
        body: IO[bytes] = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - sent later
        try:
            cursor = self._write(body, tag, since)
            self._session.rollback()  # the snapshot ends before anything is sent
        except BaseException:
            body.close()
            raise
        if cursor is None:
            body.close()
            return None
        length = body.tell()
        body.seek(0)
        return Written(body, length, cursor)

    def _write(self, body: IO[bytes], tag: str | None, since: Cursor | None) -> Cursor | None:
        with closing(self._listing.read(0 if since is None else since.revision, tag)) as page:
            return self._write_page(body, page, tag, since)

    def _write_page(
        self, body: IO[bytes], page: Page, tag: str | None, since: Cursor | None
    ) -> Cursor | None:
        cursor = self._cursor(page.incarnation, page.revision, tag)
        if since is not None and not (since.fits(cursor) and since.revision <= cursor.revision):
            return None  # the directory was restored since its standing was asked
        with SpooledTemporaryFile(max_size=IN_MEMORY) as removed:
            body.write(b'{"accounts":[')
            self._write_rows(page, body, removed)
            rest = self._encoder.encode({"cursor": str(cursor), "complete": since is None})
            body.write(b"]," + rest[1:-1])
            if since is not None:
                body.write(b',"removed":[')
                removed.seek(0)
                copyfileobj(removed, body)
                body.write(b"]")
            body.write(b"}")
        return cursor

    def _write_rows(self, page: Page, accounts: IO[bytes], removed: IO[bytes]) -> None:
        """Accounts to the one file and ids of those that do not match to the other."""
        commas = {accounts: b"", removed: b""}
        for rows in page.chunks():
            matching = [self._record(*row[2:]) for row in rows if row[3]]
            missing = [row[2] for row in rows if row[2] is not None and not row[3]]
            for file, records in ((accounts, matching), (removed, missing)):
                if records:
                    file.write(commas[file] + self._encoder.encode(records)[1:-1])
                    commas[file] = b","

    def _record(
        self,
        subject: str,
        _: bool,
        name: str | None,
        email: str | None,
        tags: str,
        disabled_by: str | None,
        mfa: bool,
        administrator: bool,
        password: bytes | None,
        updated_at: dt.datetime,
    ) -> AccountOut:
        """The account in the columns of `Listed`."""
        tag_list, roles = self._tags_and_roles(tags)
        return AccountOut(
            subject,
            name or "",
            email or None,
            tag_list,
            roles,
            disabled_by is not None,
            mfa,
            # Only the hash a service may check: never an administrator's.
            None if administrator or not self._hashes else self._exchange_hash(subject, password),
            updated_at.isoformat(timespec="seconds"),
        )

    def _exchange_hash(self, subject: str, password: bytes | None) -> str | None:
        """A sealed verifier, opened, where it is an exchange hash."""
        try:
            verifier = self._passwords.open(subject, password)
        except SealingKeyMissing:
            raise  # all passwords would be lost in every copy
        except UnsealError:
            log.exception("The password of %s cannot be opened.", subject)
            return None
        return verifier if verifier is not None and is_exchange_hash(verifier) else None

    def _read_tags(self, text: str) -> tuple[list[str], list[str]]:
        tags = json.loads(text)
        return tags, roles_of(tags, self._role_map)

    def _now(self, tag: str | None) -> Cursor:
        incarnation, revision = self._revisions.current(self._session)
        return self._cursor(incarnation, revision, tag)

    def _cursor(self, incarnation: bytes, revision: int, tag: str | None) -> Cursor:
        return Cursor(
            incarnation or bytes(8), revision, shape_of(tag, self._role_map, hashes=self._hashes)
        )

    @contextmanager
    def _one_at_a_time(self, client_id: str) -> Iterator[None]:
        """One whole list per application: in this process, and on PostgreSQL in all of them.

        The advisory lock goes with the transaction, whatever happens to the process.
        """
        with self._lock:
            if client_id in self._busy:
                raise ListInProgress
            self._busy.add(client_id)
        try:
            connection = self._session.connection()
            if connection.dialect.name == "postgresql":
                lock = text("SELECT pg_try_advisory_xact_lock(:first, :second)")
                second = crc32(client_id.encode()) - (1 << 31)
                keys = {"first": ADVISORY_LOCK, "second": second}
                if not connection.execute(lock, keys).scalar():
                    raise ListInProgress
            yield
        finally:
            with self._lock:
                self._busy.discard(client_id)
