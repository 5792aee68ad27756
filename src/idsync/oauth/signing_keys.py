"""The keys that sign id_tokens: made when first needed, sealed in the database, published as JWKS.

    next        published, does not sign yet: every application has time to fetch it
    signs       the newest whose time has come
    kept        a newer one signs; published as long as anything it signed is valid
    withdrawn   no longer published; an id_token it signed still does as a hint, until `prune`
    retired     by hand, because it leaked: accepted nowhere

Only the last is a deed; the others are a matter of time. Private keys are unsealed once per process
and kept for `CACHE_SECONDS`; signing needs no statement.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from joserfc.jwk import ECKey, RSAKey
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from idsync.applications.application import ID_TOKEN_ALGORITHMS
from idsync.crypto.sealing import Sealer
from idsync.database import DatabaseSession, Json, begin_write, write
from idsync.errors import InvalidValue, UnknownRecord

PURPOSE = "signing key"
RSA_BITS = 2048  # RFC 7518 §3.3 asks for at least this
CACHE_SECONDS = 60
ROTATION_DELAY = 600
"""Seconds between publishing a key and signing with it: ours and every client's cache is older."""

ID_TOKEN_LIFETIME = 3600
"""Seconds. Nothing else that these keys sign lives longer."""

KEPT_FOR = ID_TOKEN_LIFETIME + ROTATION_DELAY
"""Seconds that a key stays published after it signed last; clocks, ours and theirs, may differ."""


Note = Callable[[str], object]
"""What is to be written in the transaction that makes or retires the key with this kid."""


def define_signing_key_table(metadata: MetaData) -> Table:
    """`idsync_signing_key`: published keys. Times are unix seconds.

    The unique sequence per algorithm lets one of several workers make the first key.
    """
    return Table(
        "idsync_signing_key",
        metadata,
        Column("kid", String(64), primary_key=True),
        Column("algorithm", String(8), nullable=False),
        Column("sequence", Integer, nullable=False),
        Column("public", Json, nullable=False),
        Column("private", LargeBinary, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        Column("active_from", BigInteger, nullable=False),
        Column("retired_at", BigInteger),
        UniqueConstraint("algorithm", "sequence"),
    )


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key as the service uses it."""

    kid: str
    algorithm: str
    public: dict[str, Any]
    private: RSAKey | ECKey
    created_at: int
    active_from: int
    retired_at: int | None


class Times(Protocol):
    """What the state of a key depends on."""

    @property
    def algorithm(self) -> str:
        """RS256 or ES256."""

    @property
    def active_from(self) -> int:
        """When it begins to sign (unix seconds)."""

    @property
    def retired_at(self) -> int | None:
        """When it was retired by hand."""


def state_of(key: Times, in_use: Sequence[Times], now: float) -> str:
    """What a key does now, by the words above. `in_use`: the keys that were not retired."""
    if key.retired_at is not None:
        return "retired"
    begins = [other.active_from for other in in_use if other.algorithm == key.algorithm]
    signed_until = min((at for at in begins if at > key.active_from), default=None)
    if signed_until is not None and signed_until <= now:
        return "kept" if now < signed_until + KEPT_FOR else "withdrawn"
    # The clock of the host that made the first key may be a little ahead of ours.
    return "signs" if key.active_from <= max(now, min(begins)) else "next"


class SigningKeys:
    """Reads, makes and publishes signing keys."""

    def __init__(self, session: DatabaseSession, table: Table, sealer: Sealer) -> None:
        self._session = session
        self._table = table
        self._sealer = sealer
        self._cached: tuple[float, list[SigningKey]] | None = None

    def current(self, algorithm: str) -> SigningKey:
        """The newest active key of an algorithm."""
        keys, now = self.accepted(), time.time()
        return next(
            key
            for key in keys
            if key.algorithm == algorithm and state_of(key, keys, now) == "signs"
        )

    def jwks(self) -> dict[str, list[dict[str, Any]]]:
        """The public keys as a JSON Web Key Set (RFC 7517 §5)."""
        return {"keys": [key.public for key in self.published()]}

    def published(self) -> list[SigningKey]:
        """The keys by which applications verify, newest first."""
        keys, now = self.accepted(), time.time()
        return [key for key in keys if state_of(key, keys, now) != "withdrawn"]

    def accepted(self) -> list[SigningKey]:
        """Every key that was not retired, newest first; made where there are none yet."""
        cached = self._cached
        if cached is not None and time.monotonic() - cached[0] < CACHE_SECONDS:
            return cached[1]
        keys = self._load()
        missing = set(ID_TOKEN_ALGORITHMS) - {key.algorithm for key in keys}
        if missing:
            for algorithm in sorted(missing):
                self._make(algorithm)
            keys = self._load()
        self._cached = (time.monotonic(), keys)
        return keys

    def public_rows(self) -> list[dict[str, Any]]:
        """What `keys list` shows: nothing private."""
        table, now = self._table.c, time.time()
        statement = select(
            table.kid, table.algorithm, table.created_at, table.active_from, table.retired_at
        ).order_by(table.algorithm, table.sequence.desc())
        rows = self._session.connection().execute(statement).all()
        in_use = _in_use(rows)
        return [{**row._mapping, "state": state_of(row, in_use, now)} for row in rows]

    def _load(self) -> list[SigningKey]:
        table = self._table
        statement = (
            select(table)
            .where(table.c.retired_at.is_(None))
            .order_by(table.c.sequence.desc(), table.c.algorithm)
        )
        return [
            SigningKey(
                kid=row.kid,
                algorithm=row.algorithm,
                public=row.public,
                private=self._unsealed(row),
                created_at=row.created_at,
                active_from=row.active_from,
                retired_at=row.retired_at,
            )
            for row in self._session.connection().execute(statement)
        ]

    def _unsealed(self, row: Any) -> RSAKey | ECKey:
        pem = self._sealer.unseal(row.private, purpose=PURPOSE, subject=row.kid)
        return (RSAKey if row.algorithm == "RS256" else ECKey).import_key(pem)

    def rotate(self, algorithm: str, note: Note, *, once: bool = False) -> str:
        """Publish a new key that signs from `ROTATION_DELAY` on; returns its kid.

        note: called with the kid in the transaction of the change, for its event. once: refuse with
        InvalidValue while another new key waits, which would be older than needed when it begins.
        """
        self.accepted()
        kid = self._make(algorithm, first=False, note=note, once=once)
        self._cached = None
        return kid

    def retire(self, kid: str, note: Note) -> None:
        """Withdraw a key: what it signed no longer verifies, once applications fetch anew.

        note: as of `rotate`. Raises UnknownRecord, or InvalidValue for the key that signs now:
        rotate first, and wait.
        """
        accepted = {key.kid: key for key in self.accepted()}
        if kid not in accepted:
            raise UnknownRecord(f"No key in use has the id {kid!r}.")
        if self.current(accepted[kid].algorithm).kid == kid:
            raise InvalidValue("kid", "this key signs now; rotate, and retire it ten minutes later")
        table = self._table
        statement = (
            update(table)
            .where(table.c.kid == kid, table.c.retired_at.is_(None))
            .values(retired_at=int(time.time()))
        )

        def work(connection: Connection) -> None:
            begin_write(self._session, table)
            note(kid)
            if not connection.execute(statement).rowcount:
                raise UnknownRecord(f"No key in use has the id {kid!r}.")

        write(self._session, work)
        self._cached = None

    def _make(
        self, algorithm: str, *, first: bool = True, note: Note | None = None, once: bool = False
    ) -> str:
        """Make a key; the first of an algorithm only where no other worker was quicker."""
        key: RSAKey | ECKey
        if algorithm == "RS256":
            key = RSAKey.generate_key(RSA_BITS, auto_kid=True)
        else:
            key = ECKey.generate_key("P-256", auto_kid=True)
        kid, table, now = str(key.kid), self._table, int(time.time())
        values = {
            "kid": kid,
            "algorithm": algorithm,
            "public": {**key.as_dict(private=False), "kid": kid, "use": "sig", "alg": algorithm},
            "private": self._sealer.seal(key.as_pem(private=True), purpose=PURPOSE, subject=kid),
            "created_at": now,
            "active_from": now if first else now + ROTATION_DELAY,
        }

        of_algorithm = (
            select(table.c.sequence, table.c.algorithm, table.c.active_from, table.c.retired_at)
            .where(table.c.algorithm == algorithm)
            .order_by(table.c.sequence)
        )

        def work(connection: Connection) -> None:
            begin_write(self._session, table)
            if note is not None:
                note(kid)
            # One after the other; a second statement, or who waited would not see the key that was
            # made meanwhile.
            connection.execute(of_algorithm.with_for_update())
            rows = connection.execute(of_algorithm).all()
            if rows and first:
                return
            if once and any(state_of(row, _in_use(rows), now) == "next" for row in rows):
                raise InvalidValue("algorithm", "a new key was made already and waits to sign")
            sequence = max((row.sequence for row in rows), default=0) + 1
            connection.execute(insert(table), {**values, "sequence": sequence})

        try:
            write(self._session, work)
        except IntegrityError:
            if not first:
                raise
        return kid


def _in_use(rows: Sequence[Any]) -> list[Any]:
    return [row for row in rows if row.retired_at is None]
