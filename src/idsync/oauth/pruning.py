"""Deleting what can never matter again, in batches short enough to disturb nobody.

A deleted grant answers exactly like a revoked one: whatever refers to it is refused.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Table, and_, delete, func, or_, select

from idsync.database import DatabaseSession, write

BATCH = 1000
"""Rows deleted in one transaction."""

UNREDEEMED_FOR = 600
"""Seconds after which a grant whose code was never exchanged goes; the code lived 60."""

ENDED_FOR = 86_400
"""Seconds that ended grants and sessions are kept, for the person who asks what happened."""

CODE_FOR = 3600
"""Seconds that a code sent to a phone is kept; it lived 300."""


class Pruning:
    """Finds and deletes dead grants, sessions, phone codes and counts of tries."""

    def __init__(
        self,
        session: DatabaseSession,
        *,
        grants: Table,
        sessions: Table,
        phone_codes: Table,
        tries: Table,
        session_lifetime: int,
    ) -> None:
        self._session = session
        self._grants = grants
        self._sessions = sessions
        self._phone_codes = phone_codes
        self._tries = tries
        self._session_lifetime = session_lifetime

    def count(self) -> int:
        """How many rows would go now."""
        return sum(
            self._session.connection()
            .execute(select(func.count()).select_from(table).where(condition))
            .scalar_one()
            for table, condition in self._dead()
        )

    def run(self) -> Iterator[int]:
        """Delete them; yields the number of each committed batch."""
        for table, condition in self._dead():
            while True:
                key = next(iter(table.primary_key))
                keys = select(key).where(condition).limit(BATCH).scalar_subquery()
                # The condition again: a grant refreshed since the keys were read lives on.
                statement = delete(table).where(key.in_(keys), condition)
                deleted = write(
                    self._session,
                    lambda c, s=statement: c.execute(s).rowcount,  # type: ignore[misc]
                )
                yield deleted
                if deleted < BATCH:
                    break

    def _dead(self) -> list[tuple[Table, Any]]:
        now, grants, sessions = int(time.time()), self._grants.c, self._sessions.c
        dead_grants = or_(
            and_(grants.redeemed_at.is_(None), grants.issued_at < now - UNREDEEMED_FOR),
            and_(grants.redeemed_at.is_not(None), grants.expires_at < now - ENDED_FOR),
            grants.revoked_at < now - ENDED_FOR,
        )
        dead_sessions = or_(
            sessions.ended_at < now - ENDED_FOR,
            sessions.auth_time < now - self._session_lifetime - ENDED_FOR,
        )
        return [
            (self._grants, dead_grants),
            (self._sessions, dead_sessions),
            (self._phone_codes, self._phone_codes.c.sent_at < now - CODE_FOR),
            (self._tries, self._tries.c.free_at < now * 1000),
        ]
