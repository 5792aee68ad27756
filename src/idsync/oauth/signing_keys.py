"""The keys that sign id_tokens: made when first needed, sealed in the database, published as JWKS.

Private keys are unsealed once per process and kept for `CACHE_SECONDS`; signing needs no statement.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

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
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from idsync.applications.application import ID_TOKEN_ALGORITHMS
from idsync.crypto.sealing import Sealer
from idsync.database import DatabaseSession, Json, write
from idsync.errors import InvalidValue, UnknownRecord

PURPOSE = "signing key"
RSA_BITS = 2048  # RFC 7518 §3.3 asks for at least this
CACHE_SECONDS = 60
ROTATION_DELAY = 600
"""Seconds between publishing a key and signing with it: ours and every client's cache is older."""


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


class SigningKeys:
    """Reads, makes and publishes signing keys."""

    def __init__(self, session: DatabaseSession, table: Table, sealer: Sealer) -> None:
        self._session = session
        self._table = table
        self._sealer = sealer
        self._cached: tuple[float, list[SigningKey]] | None = None

    def current(self, algorithm: str) -> SigningKey:
        """The newest active key of an algorithm."""
        keys = [key for key in self.published() if key.algorithm == algorithm]
        now = time.time()
        # The clock of the host that made the first key may be a little ahead of ours.
        return next((key for key in keys if key.active_from <= now), keys[-1])

    def jwks(self) -> dict[str, list[dict[str, Any]]]:
        """The public keys as a JSON Web Key Set (RFC 7517 §5)."""
        return {"keys": [key.public for key in self.published()]}

    def published(self) -> list[SigningKey]:
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
        table = self._table.c
        statement = select(
            table.kid, table.algorithm, table.created_at, table.active_from, table.retired_at
        ).order_by(table.algorithm, table.sequence.desc())
        return [dict(row) for row in self._session.connection().execute(statement).mappings()]

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

    def rotate(self, algorithm: str) -> str:
        """Publish a new key that signs from `ROTATION_DELAY` on; returns its kid."""
        self.published()
        kid = self._make(algorithm, first=False)
        self._cached = None
        return kid

    def retire(self, kid: str) -> None:
        """Withdraw a key: what it signed no longer verifies, once applications fetch anew.

        Raises UnknownRecord, or InvalidValue for the key that signs now: rotate first, and wait.
        """
        published = {key.kid: key for key in self.published()}
        if kid not in published:
            raise UnknownRecord(f"No published key has the id {kid!r}.")
        if self.current(published[kid].algorithm).kid == kid:
            raise InvalidValue("kid", "this key signs now; rotate, and retire it ten minutes later")
        table = self._table
        statement = update(table).where(table.c.kid == kid).values(retired_at=int(time.time()))
        write(self._session, lambda connection: connection.execute(statement))
        self._cached = None

    def _make(self, algorithm: str, *, first: bool = True) -> str:
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

        def work(connection: Connection) -> None:
            highest = connection.execute(
                select(func.max(table.c.sequence)).where(table.c.algorithm == algorithm)
            ).scalar()
            if highest is None or not first:
                connection.execute(insert(table), {**values, "sequence": (highest or 0) + 1})

        try:
            write(self._session, work)
        except IntegrityError:
            if not first:
                raise
        return kid
