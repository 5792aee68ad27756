"""What an event is, and who acts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts.

    kind: person, visitor (nobody is signed in), service, command or system. name: subject,
    client_id, or program and login name. address: the network address it came from.
    """

    kind: str
    name: str | None = None
    address: str | None = None


COMMAND = Actor("command", "flask idsync")
SYSTEM = Actor("system")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: `actor` did `kind` to the account or the application named.

    id: newer events have larger ones. at: UTC, to the second. details: names of what changed, and
    the like; never a secret.
    """

    id: int
    at: dt.datetime
    kind: str
    actor: Actor
    subject: str | None
    client_id: str | None
    details: Mapping[str, Any]
