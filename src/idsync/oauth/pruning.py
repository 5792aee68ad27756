"""Deleting what can never matter again, in batches short enough to disturb nobody.

A deleted grant answers exactly like a revoked one: whatever refers to it is refused.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Table, and_, delete, exists, func, or_, select

from idsync.database import DatabaseSession, write

BATCH = 1000
"""Rows deleted in one transaction."""

UNREDEEMED_FOR = 600
"""Seconds after which a grant whose code was never exchanged goes; the code lived 60."""

ENDED_FOR = 86_400
"""Seconds that ended grants and sessions are kept, for the person who asks what happened."""

NOTICE_FOR = 86_400
"""Seconds from its beginning that a logout token's row is kept, unless it is still to be sent."""

CODE_FOR = 3600
"""Seconds that a code sent to a phone is kept; it lived 300."""

STEP_FOR = 30 * 86_400
"""Seconds for which can be said how long a change took to reach a service."""


class Pruning:
    """Finds and deletes what is dead: grants, sessions, codes, tries, keys, notices, old events."""

    def __init__(
        self,
        session: DatabaseSession,
        *,
        grants: Table,
        sessions: Table,
        phone_codes: Table,
        tries: Table,
        events: Table,
        pull_steps: Table,
        signing_keys: Table,
        logouts: Table,
        applications: Table,
        session_lifetime: int,
        audit_days: int,
    ) -> None:
        self._session = session
        self._grants = grants
        self._sessions = sessions
        self._phone_codes = phone_codes
        self._tries = tries
        self._events = events
        self._pull_steps = pull_steps
        self._signing_keys = signing_keys
        self._logouts = logouts
        self._applications = applications
        self._session_lifetime = session_lifetime
        self._audit_days = audit_days

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
            (self._grants, and_(dead_grants, ~self._still_needed(now))),
            (self._sessions, dead_sessions),
            (self._phone_codes, self._phone_codes.c.sent_at < now - CODE_FOR),
            (self._tries, self._tries.c.free_at < now * 1000),
            (self._pull_steps, self._pull_steps.c.at < now - STEP_FOR),
            (self._events, self._events.c.at < now - self._audit_days * 86_400),
            (self._signing_keys, self._dead_keys(now)),
            (
                self._logouts,
                and_(
                    self._logouts.c.due_at.is_(None), self._logouts.c.created_at < now - NOTICE_FOR
                ),
            ),
        ]

    def _still_needed(self, now: int) -> Any:
        """The last grant of a living session says which application to tell of its end, whatever
        else it is good for.
        """
        grants, sessions, applications = self._grants.c, self._sessions.c, self._applications.c
        other = self._grants.alias("other").c
        last = ~exists().where(
            other.session_id == grants.session_id,
            # Older rows have none, and session_id instead.
            or_(
                other.issued_session_id == grants.issued_session_id,
                other.issued_session_id.is_(None) & grants.issued_session_id.is_(None),
            ),
            other.client_id == grants.client_id,
            other.redeemed_at.is_not(None),
            or_(
                other.issued_at > grants.issued_at,
                and_(other.issued_at == grants.issued_at, other.id > grants.id),
            ),
        )
        return last & exists().where(
            sessions.id == grants.session_id,
            or_(sessions.ended_at.is_(None), grants.revoked_at.is_(None)),
            sessions.auth_time > now - self._session_lifetime,
            applications.client_id == grants.client_id,
            applications.backchannel_logout_uri.is_not(None),
            grants.redeemed_at.is_not(None),
        )

    def _dead_keys(self, now: int) -> Any:
        """Keys so old that no session lives whose id_tokens, as hints, they could have signed."""
        keys, newer = self._signing_keys.c, self._signing_keys.alias("newer").c
        long_ago = now - self._session_lifetime - ENDED_FOR
        followed = exists().where(
            newer.algorithm == keys.algorithm,
            newer.retired_at.is_(None),
            newer.active_from > keys.active_from,
            newer.active_from < long_ago,
        )
        return or_(keys.retired_at < long_ago, followed)
