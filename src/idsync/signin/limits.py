"""How often somebody may try: per account in database rows, per network address in memory or Redis.

Nothing is locked. A used-up limit gives one try back after another, so that a stranger's tries keep
nobody out for ever, and a browser that signed in before has tries of its own (`devices.py`).
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from contextlib import suppress
from ipaddress import IPv6Address, ip_address, ip_network

from flask import has_request_context, request
from limits import RateLimitItem, parse
from limits.errors import StorageError
from limits.storage import MemoryStorage, Storage, storage_from_string
from limits.strategies import MovingWindowRateLimiter
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    LargeBinary,
    MetaData,
    Table,
    case,
    delete,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from idsync.database import DatabaseSession, write
from idsync.errors import ConfigurationError, TooManyTries

SHARED_STORAGE_TIMEOUT = 0.5
"""Seconds; a person waits for this at the sign-in page."""

SHARED_STORAGE_PAUSE = 10
"""Seconds in which a shared storage that did not answer is left alone."""

IPV6_NETWORK = 64
"""Bits; one subscriber has at least so large a network (RFC 6177), so it counts as one address."""

CLOCKS_APART = 300
"""Seconds by which the clocks of two machines may differ."""

ATTEMPTS = 5
"""How often a try is counted anew because others changed its row at the same moment."""

_logger = logging.getLogger(__name__)


def define_try_table(metadata: MetaData) -> Table:
    """`idsync_try`: one row per limit in use. `free_at` is in unix milliseconds.

    `id` is a hash of whose limit it is: unknown people are counted too, and what they typed is not
    ours to keep.
    """
    return Table(
        "idsync_try",
        metadata,
        Column("id", LargeBinary(32), primary_key=True),
        Column("free_at", BigInteger, nullable=False, index=True),
    )


class TryLimit:
    """Some tries at once, then one more for each interval that passes.

    A row keeps the time at which all tries are free again (the generic cell rate algorithm), so a
    try is one conditional UPDATE, and two processes cannot both have the last one.
    """

    def __init__(
        self, session: DatabaseSession, table: Table, purpose: str, *, tries: int, interval: int
    ) -> None:
        self._session = session
        self._table = table
        self._purpose = purpose
        self._interval = interval * 1000
        self._slack = (tries - 1) * self._interval

    def take(self, whose: str) -> None:
        """Use one try up, and commit. Raises TooManyTries."""
        row_id, wait = self._id(whose), None
        for _ in range(ATTEMPTS):
            with suppress(IntegrityError):  # somebody else's first try came at the same moment
                wait = write(self._session, lambda connection: self._take(connection, row_id))
            if wait == 0:
                return
            if wait is not None:
                raise TooManyTries(math.ceil(wait / 1000))
        raise TooManyTries(1)

    def forgive(self, whose: str) -> None:
        """Give all tries back, because the last one was right; the caller commits."""
        table = self._table
        self._session.connection().execute(delete(table).where(table.c.id == self._id(whose)))

    def _take(self, connection: Connection, row_id: bytes) -> int | None:
        """Take a try: 0, or milliseconds to wait where none is left.

        None where others changed the row between two statements, so that it is to be tried again.
        """
        table, now = self._table, int(time.time() * 1000)
        free_at = table.c.free_at
        latest = now + self._slack
        begun = free_at.between(now, latest)
        # A time that no try can have led to was written under a wrong clock; it counts for nothing.
        wrong = latest + self._interval + CLOCKS_APART * 1000
        free = or_(free_at <= latest, free_at > wrong)
        taken = connection.execute(
            update(table)
            .where(table.c.id == row_id, free)
            .values(free_at=case((begun, free_at), else_=now) + self._interval)
        )
        if taken.rowcount:
            return 0
        busy_until = connection.execute(select(free_at).where(table.c.id == row_id)).scalar()
        if busy_until is None:
            connection.execute(insert(table), {"id": row_id, "free_at": now + self._interval})
            return 0
        return int(busy_until) - latest if busy_until > latest else None

    def _id(self, whose: str) -> bytes:
        text = f"{self._purpose}\0{whose}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(text).digest()


class AddressLimit:
    """Tries of one kind from one network address, for all accounts together.

    storage: as the `limits` package writes it; `memory://` counts in each process by itself. A
    shared storage that does not answer stops nobody: this process counts alone meanwhile.
    Raises ConfigurationError.
    """

    def __init__(self, storage: str, limit: str, purpose: str) -> None:
        self._purpose = purpose
        try:
            self._limit: RateLimitItem = parse(limit)
        except ValueError:
            raise ConfigurationError(
                f"IDSYNC_ADDRESS_LIMIT must read like '30 per 10 minutes', not {limit!r}."
            ) from None
        self._own = MovingWindowRateLimiter(MemoryStorage())
        self._shared = None if storage == "memory://" else MovingWindowRateLimiter(_opened(storage))
        self._left_alone_until = 0.0

    def check(self) -> None:
        """Raises TooManyTries where the visitor's address has used its tries up."""
        name = _network(visitor_address())
        for limiter in self._limiters():
            try:
                if limiter.test(self._limit, self._purpose, name):
                    return
                reset_at = limiter.get_window_stats(self._limit, self._purpose, name).reset_time
                raise TooManyTries(max(0, int(reset_at - time.time())) + 1)
            except StorageError as error:
                self._leave_alone(error)

    def count(self) -> None:
        """Count a try of this visitor."""
        name = _network(visitor_address())
        for limiter in self._limiters():
            try:
                limiter.hit(self._limit, self._purpose, name)
                return
            except StorageError as error:
                self._leave_alone(error)

    def _limiters(self) -> list[MovingWindowRateLimiter]:
        """The one to ask, and the one to ask where that does not answer."""
        if self._shared is None or time.monotonic() < self._left_alone_until:
            return [self._own]
        return [self._shared, self._own]

    def _leave_alone(self, error: StorageError) -> None:
        self._left_alone_until = time.monotonic() + SHARED_STORAGE_PAUSE
        _logger.warning(
            "The storage in IDSYNC_LIMITS_STORAGE does not answer; tries per address are counted "
            "in this process alone for %d seconds: %s",
            SHARED_STORAGE_PAUSE,
            error.storage_error,
        )


def visitor_address() -> str | None:
    """The network address of who asks; None in a command."""
    return request.remote_addr if has_request_context() else None


def _opened(storage: str) -> Storage:
    try:
        opened = storage_from_string(
            storage,
            wrap_exceptions=True,
            socket_timeout=SHARED_STORAGE_TIMEOUT,
            socket_connect_timeout=SHARED_STORAGE_TIMEOUT,
        )
    except Exception as error:  # the package lets through what each client library raises
        raise ConfigurationError(f"IDSYNC_LIMITS_STORAGE cannot be used: {error}") from error
    if not isinstance(opened, Storage):
        raise ConfigurationError("IDSYNC_LIMITS_STORAGE must not be an async storage.")
    return opened


def _network(address: str | None) -> str:
    """What counts as one address: all of IPv4's, the network of an IPv6 one."""
    try:
        parsed = ip_address(address or "")
    except ValueError:
        return "unknown"
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ip_network((parsed, IPV6_NETWORK), strict=False))
    return str(parsed)
