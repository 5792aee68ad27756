"""A pending authorization request: signed and carried through sign-in and consent by the browser.

Nothing is stored for a request that may never be finished. The signature keeps the parameters as
the application sent them and the time they were first seen, which prompt=login and max_age need.
"""

from __future__ import annotations

import json
import time
import zlib
from dataclasses import dataclass
from typing import Any

from idsync.crypto.references import ReferenceSigner
from idsync.oauth.interaction import FirstSeen
from idsync.parameters import Parameters

LIFETIME = 3600
"""Seconds a person may take; then the page has expired."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Parameters of a request and when it was first seen."""

    parameters: Parameters
    first_seen: FirstSeen


@dataclass(frozen=True, slots=True)
class ConsentForm:
    """What a consent form carries: the pending request, and for whom and where it was shown."""

    pending: Pending
    session: str
    subject: str


class PendingRequests:
    """Signs and reads pending requests and consent forms."""

    def __init__(self, keys: tuple[bytes, ...]) -> None:
        self._requests = ReferenceSigner(keys, "idsync pending request")
        self._forms = ReferenceSigner(keys, "idsync consent form")

    def first(self, parameters: Parameters, session: str) -> Pending:
        """A request seen for the first time, under this session."""
        return Pending(parameters, FirstSeen(int(time.time()), session))

    def sign(self, pending: Pending) -> str:
        """The value for the query of our own authorize address."""
        return self._requests.sign(_packed(_as_list(pending)))

    def read(self, text: str) -> Pending | None:
        """The request in a signed value; None when it is not ours or too old."""
        payload = self._requests.read(text)
        return None if payload is None else _fresh(_from_list(_unpacked(payload)))

    def sign_form(self, form: ConsentForm) -> str:
        """The value for the hidden field of a consent form."""
        return self._forms.sign(_packed([_as_list(form.pending), form.session, form.subject]))

    def read_form(self, text: str) -> ConsentForm | None:
        """The consent form in a signed value; None when it is not ours or too old."""
        payload = self._forms.read(text)
        if payload is None:
            return None
        pending, session, subject = _unpacked(payload)
        fresh = _fresh(_from_list(pending))
        return None if fresh is None else ConsentForm(fresh, session, subject)


def _as_list(pending: Pending) -> list[object]:
    return [pending.parameters, pending.first_seen.at, pending.first_seen.session]


def _from_list(values: list[Any]) -> Pending:
    parameters, at, session = values
    return Pending(parameters, FirstSeen(at, session))


def _fresh(pending: Pending) -> Pending | None:
    return pending if time.time() - pending.first_seen.at <= LIFETIME else None


def _packed(value: object) -> bytes:
    return zlib.compress(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def _unpacked(payload: bytes) -> list[Any]:
    values: list[Any] = json.loads(zlib.decompress(payload))
    return values
