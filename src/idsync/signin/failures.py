"""Failed tries to sign in: counted against the visitor's address, and noted in the audit log.

Whoever tries writes rows there, so not every failure is noted. Each account has a share and all of
them together have one; what unknown people try has one of its own, so that it cannot use up the
others'. With shared counters these hold for the whole service, otherwise for each process.
"""

from __future__ import annotations

import hashlib
import time
from contextlib import suppress

from limits import RateLimitItem, parse
from limits.errors import StorageError
from sqlalchemy import Connection, Table, insert, update
from sqlalchemy.exc import IntegrityError

from idsync import signals
from idsync.audit.announcing import tell
from idsync.audit.events import Actor, Audit
from idsync.database import DatabaseSession, write
from idsync.signin.limits import AddressLimit

# Far more than people fail, and under an attack that never pauses some 9,000 rows a day: 4 MB.
OF_ONE_ACCOUNT = parse("20 per hour")
OF_ALL_ACCOUNTS = parse("300 per hour")
OF_UNKNOWN_PEOPLE = parse("60 per hour")
SAYING_THAT_THERE_ARE_MORE = parse("1 per hour")

VISITOR = Actor("visitor")

NOT_NOTED = hashlib.sha256(b"a failure that is not noted").digest()
"""The row that is written instead of an event."""


class Failures(AddressLimit):
    """Failed tries from one network address, for all accounts together; and their events."""

    def __init__(
        self,
        storage: str,
        limit: str,
        purpose: str,
        *,
        session: DatabaseSession,
        tries: Table,
        audit: Audit,
    ) -> None:
        super().__init__(storage, limit, purpose)
        self._session = session
        self._tries = tries
        self._audit = audit

    def count(self, method: str = "", subject: str | None = None) -> None:
        """Count and note a failed try; commits.

        method: what did not fit, such as "password". subject: whose account it was, where that is
        known. What was typed is noted nowhere. There is a transaction that writes also where
        nothing is noted, or time would tell whose room is used up: that of a known person, or of
        unknown people.
        """
        super().count()
        if self._has_room(subject):
            self._note("sign-in failed", subject, method)
        elif self._hit(SAYING_THAT_THERE_ARE_MORE, "more"):
            self._note("more sign-ins failed", None, method)
        else:
            self._note_nothing()
        tell(signals.sign_in_failed, subject=subject, method=method)

    def _note(self, kind: str, subject: str | None, method: str) -> None:
        write(
            self._session,
            lambda _: self._audit.record(kind, VISITOR, subject=subject, method=method),
        )

    def _note_nothing(self) -> None:
        """Do the work of a note, and leave no further row."""
        table, now = self._tries, int(time.time() * 1000)

        def work(connection: Connection) -> None:
            row = table.c.id == NOT_NOTED
            if not connection.execute(update(table).where(row).values(free_at=now)).rowcount:
                connection.execute(insert(table), {"id": NOT_NOTED, "free_at": now})

        with suppress(IntegrityError):  # another one wrote the row at the same moment
            write(self._session, work)

    def _has_room(self, subject: str | None) -> bool:
        if subject is None:
            # Asked twice, as of an account: a shared storage takes its time for each.
            return self._hit(OF_UNKNOWN_PEOPLE, "unknown") and self._hit(
                OF_ALL_ACCOUNTS, "unknown people"
            )
        return self._hit(OF_ONE_ACCOUNT, subject) and self._hit(OF_ALL_ACCOUNTS, "accounts")

    def _hit(self, limit: RateLimitItem, name: str) -> bool:
        for limiter in self._limiters():
            try:
                return limiter.hit(limit, "audit", name)
            except StorageError as error:
                self._leave_alone(error)
        return False
