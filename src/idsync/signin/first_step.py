"""The first of two steps: a right password, or phone code, of an account that has a second factor.

It signs nobody in. The Flask session cookie, signed by the host, carries it to the second step.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from flask import has_request_context, session

from idsync.signin.limits import CLOCKS_APART

FIELD = "_idsync_first_step"

LIFETIME = 600
"""Seconds between the two steps."""


@dataclass(frozen=True, slots=True)
class FirstStep:
    """Whose credential was right, and the epoch read together with it.

    at: unix seconds. amr: how the first step was made.
    """

    subject: str
    epoch: bytes = field(repr=False)
    amr: tuple[str, ...]
    at: int


def keep(subject: str, epoch: bytes, amr: tuple[str, ...]) -> None:
    """Carry a first step to the next request of this browser."""
    session[FIELD] = [subject, epoch.hex(), " ".join(amr), int(time.time())]


def kept() -> FirstStep | None:
    """The first step this browser has made, while the second may follow."""
    values: Any = session.get(FIELD)
    if not values or len(values) != 4:  # none, or that of another version
        return None
    subject, epoch, amr, at = values
    if not -CLOCKS_APART <= time.time() - at <= LIFETIME:
        return None
    return FirstStep(subject, bytes.fromhex(epoch), tuple(amr.split()), at)


def forget() -> None:
    """Start over. A password is also checked outside of a request, where there is nothing kept."""
    if has_request_context():
        session.pop(FIELD, None)
