"""What an application asked of the pages that a person is shown on the way (Core §3.1.2.1).

The host's sign-in page reads it from the pending request in its `next`; authorize and its consent
page from their own query. Nothing here is proof of anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from flask import request

from idsync.oauth.pending import PendingRequests
from idsync.parameters import Parameters, UnreadableParameters, read_parameters

_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")  # BCP 47, in outline


@dataclass(frozen=True, slots=True)
class RequestHints:
    """login_hint: what the person may sign in as, or empty. ui_locales: languages, best first.

    asked_at: when the application asked (unix seconds); None for just now, or where none did.
    """

    login_hint: str = ""
    ui_locales: tuple[str, ...] = ()
    asked_at: int | None = None


class Hints:
    """Finds the authorization request that a page is shown for."""

    def __init__(self, pending: PendingRequests, authorize_path: str) -> None:
        self._pending = pending
        self._authorize_path = authorize_path

    def current(self) -> RequestHints:
        """The hints of the request at hand; empty ones where there is none, or none is ours."""
        try:
            query = read_parameters(request.query_string)
            if request.endpoint == "idsync.authorize":
                return self._hints_in(query)
            wanted = urlsplit(_first(query, "next"))
            # Not url_for, which fails where the Host header is no host name.
            if wanted.path != request.script_root + self._authorize_path:
                return RequestHints()
            query = read_parameters(wanted.query.encode())
            return self._hints_in({"pending": query.get("pending", [])})
        except (UnreadableParameters, ValueError):
            return RequestHints()

    def _hints_in(self, query: Parameters) -> RequestHints:
        signed, asked_at = _first(query, "pending"), None
        if signed:
            pending = self._pending.read(signed)
            if pending is None:
                return RequestHints()
            query, asked_at = pending.parameters, pending.first_seen.at
        locales = _first(query, "ui_locales").split()
        return RequestHints(
            _first(query, "login_hint"),
            tuple(one for one in locales if _LANGUAGE_TAG.fullmatch(one)),
            asked_at,
        )


def _first(parameters: Parameters, name: str) -> str:
    values = parameters.get(name)
    return values[0] if values else ""
