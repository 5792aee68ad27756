"""The worker that sends logout tokens: at least once, to each application at its own pace.

    claim     rows that are due become this worker's for `CLAIM_SECONDS`; one UPDATE each decides
    send      in threads, a few at a time for one application, so that a slow one delays nobody
    note      delivered; or due again, later each time; or given up after a day

The database is used by the main thread alone. A worker that dies between sending and noting leaves
a claim that runs out: the application hears the same `jti` again.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event
from typing import Any

from sqlalchemy import Connection, Row, Table, func, select, update

from idsync.applications.registry import Applications
from idsync.audit.events import SYSTEM, Audit
from idsync.database import DatabaseSession, write
from idsync.machine import DATABASE_AWAY
from idsync.oauth.logout_token import (
    TIMEOUT,
    NotDelivered,
    logout_token_claims,
    post_logout_token,
    sign_logout_token,
)
from idsync.oauth.signing_keys import SigningKeys

log = logging.getLogger("idsync")

THREADS = 32
PER_APPLICATION = 4
"""Tokens on their way to one application at once, from one worker."""

CLAIM_SECONDS = 60
"""Well above `logout_token.TIMEOUT`."""

FIRST_PAUSE, LONGEST_PAUSE = 5, 3600
"""Seconds between two tries; each pause is four times the one before."""

GIVE_UP_AFTER = 24 * 3600
"""Seconds."""

LOOK_EVERY = 1
"""Seconds between two looks for rows that are due."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One logout token to be sent. `tries` counts the present one."""

    id: int
    client_id: str
    subject: str
    session_id: bytes | None
    created_at: int
    tries: int


def next_try(created_at: int, tries: int, now: int) -> int | None:
    """When to try again after so many failures (unix seconds); None to give up."""
    at = now + min(LONGEST_PAUSE, FIRST_PAUSE * 4 ** (min(tries, 10) - 1))
    return at if at <= created_at + GIVE_UP_AFTER else None


class Deliveries:
    """The rows of `idsync_logout` as a queue. Every method commits."""

    def __init__(
        self,
        session: DatabaseSession,
        table: Table,
        applications: Applications,
        signing_keys: SigningKeys,
        audit: Audit,
        issuer: Callable[[], str],
    ) -> None:
        self._session = session
        self._table = table
        self._applications = applications
        self._signing_keys = signing_keys
        self._audit = audit
        self._issuer = issuer

    def claim(self, room: int, busy: Counter[str]) -> list[Notice]:
        """Make up to `room` due rows ours. `busy`: tokens already on their way, by client_id.

        First tries go before others, so that applications that do not answer keep nobody waiting.
        """
        if room <= 0:
            return []
        table, now = self._table.c, int(time.time())
        connection = self._session.connection()
        waiting = connection.execute(
            select(table.client_id).where(table.due_at <= now).distinct()
        ).scalars()
        found: list[Row[Any]] = []
        for client_id in [one for one in waiting if busy[one] < PER_APPLICATION]:
            found += connection.execute(
                select(self._table)
                .where(table.client_id == client_id, table.due_at <= now)
                .order_by(table.due_at, table.id)
                .limit(PER_APPLICATION - busy[client_id])
            )
        self._session.rollback()
        found = sorted(found, key=lambda row: (row.tries > 0, row.due_at, row.id))[:room]
        if not found:
            return []

        def work(connection: Connection) -> list[Notice]:
            claimed = []
            for row in sorted(found, key=lambda row: row.id):  # the same order in every worker
                changed = connection.execute(
                    update(self._table)
                    .where(table.id == row.id, table.due_at == row.due_at)
                    .values(due_at=now + CLAIM_SECONDS, tries=row.tries + 1)
                )
                if changed.rowcount == 1:
                    claimed.append(
                        Notice(
                            row.id,
                            row.client_id,
                            row.subject,
                            row.session_id,
                            row.created_at,
                            row.tries + 1,
                        )
                    )
            return claimed

        return write(self._session, work)

    def letter(self, notice: Notice) -> tuple[str, str] | None:
        """The registered address and a signed token; None where there is none any more."""
        try:
            application = self._applications.find(notice.client_id)
            if (
                application is None
                or not application.active
                or application.backchannel_logout_uri is None
            ):
                return None
            claims = logout_token_claims(
                issuer=self._issuer(),
                client_id=notice.client_id,
                subject=notice.subject,
                session_id=notice.session_id,
                number=notice.id,
                created_at=notice.created_at,
                now=int(time.time()),
            )
            key = self._signing_keys.current(application.id_token_algorithm)
            return application.backchannel_logout_uri, sign_logout_token(claims, key)
        finally:
            self._session.rollback()

    def delivered(self, notice: Notice) -> None:
        """The application has it."""
        self._note(notice, due_at=None, delivered_at=int(time.time()))

    def failed(self, notice: Notice) -> None:
        """It has not: try again later, or give up."""
        again = next_try(notice.created_at, notice.tries, int(time.time()))
        if again is None:
            self.give_up(notice)
        else:
            self._note(notice, due_at=again)

    def give_up(self, notice: Notice) -> None:
        """Leave it, and tell the operator."""
        log.error("logout token given up client_id=%s", notice.client_id)
        self._note(notice, due_at=None, given_up=True)

    def outstanding(self) -> int:
        """How many are neither delivered nor given up. Leaves the session's transaction open."""
        waiting = select(func.count()).select_from(self._table)
        return int(
            self._session.connection()
            .execute(waiting.where(self._table.c.due_at.is_not(None)))
            .scalar_one()
        )

    def _note(self, notice: Notice, *, given_up: bool = False, **values: int | None) -> None:
        table = self._table.c

        def work(connection: Connection) -> None:
            changed = connection.execute(
                update(self._table)
                # A claim that ran out may be another worker's by now.
                .where(table.id == notice.id, table.tries == notice.tries)
                .values(values)
            )
            if given_up and changed.rowcount:
                self._audit.record(
                    "logout token given up",
                    SYSTEM,
                    subject=notice.subject,
                    client_id=notice.client_id,
                )

        write(self._session, work)


class DeliveryWorker:
    """Sends what is due until it is told to stop."""

    def __init__(self, deliveries: Deliveries, session: DatabaseSession) -> None:
        self._deliveries = deliveries
        self._session = session
        self._running: dict[Future[None], Notice] = {}
        self.sent = 0
        self.not_sent = 0

    def run(self, stop: Event, *, once: bool) -> None:
        """Send until `stop` is set, or with `once` until nothing is due. Ends what it began."""
        with ThreadPoolExecutor(THREADS, thread_name_prefix="idsync-logout") as threads:
            while not stop.is_set():
                try:
                    self._begin(threads)
                    if self._running:
                        self._note_finished()
                    elif once:
                        return
                    else:
                        stop.wait(LOOK_EVERY)
                except DATABASE_AWAY:
                    self._session.rollback()
                    if once:
                        raise
                    log.exception("The database did not answer.")
                    stop.wait(5 * LOOK_EVERY)
            deadline = time.monotonic() + 2 * TIMEOUT
            while self._running and time.monotonic() < deadline:
                self._note_finished()

    def _begin(self, threads: ThreadPoolExecutor) -> None:
        busy = Counter(notice.client_id for notice in self._running.values())
        for notice in self._deliveries.claim(THREADS - len(self._running), busy):
            letter = self._deliveries.letter(notice)
            if letter is None:
                self._deliveries.give_up(notice)
            else:
                self._running[threads.submit(post_logout_token, *letter)] = notice

    def _note_finished(self) -> None:
        finished, _ = wait(self._running, LOOK_EVERY, FIRST_COMPLETED)
        for future in finished:
            notice = self._running.pop(future)
            try:
                future.result()
            except Exception as error:  # whatever it is, the other tokens are to be sent
                self.not_sent += 1
                log.warning(
                    "logout token not taken client_id=%s try=%d: %s",
                    notice.client_id,
                    notice.tries,
                    error if isinstance(error, NotDelivered) else type(error).__name__,
                )
                self._deliveries.failed(notice)
            else:
                self.sent += 1
                self._deliveries.delivered(notice)
