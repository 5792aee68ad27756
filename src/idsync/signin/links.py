"""Links in mails: signed references to what the owner of an address may do, and until when.

Nothing is stored. A link carries what the account held when it was made, and stands only while it
holds the same: using it replaces the epoch or the address, so it works once.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field

from idsync.accounts.record import Account
from idsync.accounts.rules import email_key
from idsync.crypto.references import ReferenceSigner

LIFETIME = 1800
"""Seconds a link lives."""


@dataclass(frozen=True, slots=True)
class Link:
    """Whose link it is, and what the account held when it was made.

    email: its address. wanted: the address that it is to have, in a link for that; `as_of`, when
    the account was changed last, then keeps the link from being used again after another change.
    """

    subject: str
    epoch: bytes = field(repr=False)
    email: str | None
    wanted: str | None = None
    as_of: str | None = None

    def stands(self, account: Account) -> bool:
        """Whether nothing came in between: another password or address, signing out, disabling."""
        return (
            not account.disabled
            and account.epoch == self.epoch
            and email_key(account.email or "") == email_key(self.email or "")
            and self.as_of in (None, account.updated_at.isoformat())
        )

    def is_done(self, account: Account) -> bool:
        """Whether the account has the wanted address already."""
        return self.wanted is not None and account.email == self.wanted


class Links:
    """Signs and reads links of one purpose."""

    def __init__(self, keys: tuple[bytes, ...], purpose: str) -> None:
        self._signer = ReferenceSigner(keys, f"mailed link: {purpose}")

    def sign(self, link: Link) -> str:
        """The part of an address that is the link."""
        expires_at = int(time.time()) + LIFETIME
        kept = [link.subject, link.epoch.hex(), link.email, link.wanted, link.as_of]
        values = [expires_at, *kept]
        return self._signer.sign(json.dumps(values, ensure_ascii=False).encode())

    def read(self, text: str) -> Link | None:
        """The link in a reference; None when it is not ours or too old."""
        payload = self._signer.read(text)
        if payload is None:
            return None
        expires_at, subject, epoch, *rest = json.loads(payload)
        if time.time() > expires_at:
            return None
        return Link(subject, bytes.fromhex(epoch), *rest)
