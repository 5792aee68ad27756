"""The service's keys as an administrator sees them: ids and times, nothing of a key itself."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from idsync.accounts.sealing_keys import SealingKeys
from idsync.administration.transactions import Transactions
from idsync.audit.events import Actor, Audit
from idsync.oauth.signing_keys import SigningKeys


@dataclass(frozen=True, slots=True)
class SigningKeyInfo:
    """A key that signs id_tokens, or did. Times are UTC.

    state: next (published, signs later), signs, kept (published until nothing it signed is valid
    any more), withdrawn, or retired (by hand).
    """

    kid: str
    algorithm: str
    state: str
    created_at: dt.datetime
    active_from: dt.datetime
    retired_at: dt.datetime | None


@dataclass(frozen=True, slots=True)
class SealingKeyInfo:
    """A key that seals secrets in the database.

    newest: new secrets are sealed with it. needed: the database may hold secrets sealed with it.
    """

    id: str
    newest: bool
    needed: bool


class Keys:
    """The keys, for one administrator."""

    def __init__(
        self,
        signing_keys: SigningKeys,
        sealing_keys: SealingKeys,
        audit: Audit,
        actor: Actor,
        transactions: Transactions,
    ) -> None:
        self._signing_keys = signing_keys
        self._sealing_keys = sealing_keys
        self._audit = audit
        self._actor = actor
        self._transactions = transactions

    def signing(self) -> list[SigningKeyInfo]:
        """Every signing key, by algorithm and newest first; the first ones are made here."""
        self._signing_keys.published()
        return [
            SigningKeyInfo(
                kid=row["kid"],
                algorithm=row["algorithm"],
                state=row["state"],
                created_at=_utc(row["created_at"]),
                active_from=_utc(row["active_from"]),
                retired_at=None if row["retired_at"] is None else _utc(row["retired_at"]),
            )
            for row in self._signing_keys.public_rows()
        ]

    def rotate(self, algorithm: str) -> None:
        """Publish a new key, which signs in ten minutes. Raises InvalidValue.

        Refused while another one waits: it would be older than needed when it begins.
        """

        def note(kid: str) -> None:
            self._transactions.confirm()
            self._audit.record("signing key made", self._actor, kid=kid, algorithm=algorithm)

        self._signing_keys.rotate(algorithm, note, once=True)

    def retire(self, kid: str) -> None:
        """Withdraw a key. Raises UnknownRecord, or InvalidValue for the one that signs now."""

        def note(kid: str) -> None:
            self._transactions.confirm()
            self._audit.record("signing key retired", self._actor, kid=kid)

        self._signing_keys.retire(kid, note)

    def sealing(self) -> list[SealingKeyInfo]:
        """The sealing keys, newest first: those configured, and which of them are needed."""
        needed = {key_id for key_id, _ in self._sealing_keys.ids()}
        configured = self._sealing_keys.configured_ids()
        return [
            SealingKeyInfo(id=one, newest=number == 0, needed=one in needed)
            for number, one in enumerate(configured)
        ]


def _utc(seconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)
