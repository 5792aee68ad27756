"""Browsers that an account signed in with before: they have tries of their own.

Without this, whoever knows an e-mail address could use up the tries of its owner for ever. The
cookie proves nothing else (OWASP, "Slow Down Online Guessing Attacks with Device Cookies").
"""

from __future__ import annotations

import hashlib
import hmac

from flask import after_this_request, has_request_context, request
from werkzeug.wrappers import Response

from idsync.crypto import identifiers
from idsync.crypto.references import ReferenceSigner

COOKIE = "idsync_device"
LIFETIME = 365 * 24 * 3600
"""Seconds."""

MOST_ACCOUNTS = 8
"""Accounts that one browser is remembered for, the latest first."""

_ID, _MARK = 16, 16
"""Bytes of a device's random id, and of the mark of an account."""


class Devices:
    """Reads and writes the cookie: a signed random id, and a mark for each account."""

    def __init__(self, keys: tuple[bytes, ...], *, secure: bool) -> None:
        self._secure = secure
        self._signer = ReferenceSigner(keys, "idsync device")

    def name(self, subject: str) -> str:
        """What tells this browser's tries apart for an account; empty for an unknown browser."""
        device = self._read()
        if device is None or not _knows(device, subject):
            return ""
        return device[:_ID].hex()

    def remember(self, subject: str) -> None:
        """Let this browser be known to an account from the next answer on."""
        device = self._read() or identifiers.new_id()
        mark = _mark(device, subject)
        marks = [one for one in _marks(device) if one != mark]
        value = self._signer.sign(b"".join([device[:_ID], mark, *marks][: MOST_ACCOUNTS + 1]))

        @after_this_request
        def set_cookie(response: Response) -> Response:
            response.set_cookie(
                COOKIE,
                value,
                max_age=LIFETIME,
                httponly=True,
                samesite="Lax",
                secure=self._secure or request.is_secure,
            )
            return response

    def _read(self) -> bytes | None:
        if not has_request_context():
            return None
        device = self._signer.read(request.cookies.get(COOKIE, ""))
        return device if device and len(device) >= _ID else None


def _marks(device: bytes) -> list[bytes]:
    return [device[at : at + _MARK] for at in range(_ID, len(device), _MARK)]


def _mark(device: bytes, subject: str) -> bytes:
    return hashlib.sha256(device[:_ID] + f"\0{subject}".encode()).digest()[:_MARK]


def _knows(device: bytes, subject: str) -> bool:
    mark = _mark(device, subject)
    return any(hmac.compare_digest(mark, one) for one in _marks(device))
