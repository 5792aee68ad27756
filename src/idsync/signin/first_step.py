"""The first of two steps: a right password, or phone code, of an account that has a second factor.

It signs nobody in. The Flask session cookie, signed by the host, carries it to the second step.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from flask import session

from idsync.signin.limits import CLOCKS_APART

FIELD = "_idsync_first_step"

LIFETIME = 600
"""Seconds between the two steps."""


@dataclass(frozen=True, slots=True)
class FirstStep:
    """Whose credential was right, and the epoch read together with it.

    at: unix seconds. amr: how the first step was made. remember: keep them signed in afterwards.
    """

    subject: str
    epoch: bytes = field(repr=False)
    amr: tuple[str, ...]
    at: int
    remember: bool


def keep(subject: str, epoch: bytes, amr: tuple[str, ...], remember: bool) -> None:
    """Carry a first step to the next request of this browser."""
    session[FIELD] = [subject, epoch.hex(), " ".join(amr), int(time.time()), remember]


def kept() -> FirstStep | None:
    """The first step this browser has made, while the second may follow."""
    values: Any = session.get(FIELD)
    if not values:
        return None
    subject, epoch, amr, at, remember = values
    if not -CLOCKS_APART <= time.time() - at <= LIFETIME:
        return None
    return FirstStep(subject, bytes.fromhex(epoch), tuple(amr.split()), at, remember)


def forget() -> None:
    """Start over."""
    session.pop(FIELD, None)
