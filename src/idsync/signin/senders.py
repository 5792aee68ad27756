"""How a text reaches a phone: the console, an HTTP gateway, or a function of the host."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any
from urllib.request import HTTPRedirectHandler, Request, build_opener

from idsync.signin.outbox import Outbox

SendText = Callable[[str, str], object]
"""Called with a number (E.164) and a text; raises where the message was not accepted."""

TIMEOUT = 10
"""Seconds a gateway may take."""


class _NoRedirect(HTTPRedirectHandler):
    """A gateway that moved gets neither the code nor the token sent after it."""

    def redirect_request(self, *_: Any) -> None:
        """Leave the answer as it is: a failure."""


def to_console(phone: str, text: str) -> None:
    """Write a message to standard error; for development, where nobody else reads it."""
    sys.stderr.write(f"Text to {phone}: {text}\n")
    sys.stderr.flush()


def to_gateway(address: str, token: str) -> SendText:
    """A sender that posts `{"to", "text"}` as JSON; any answer but 2xx is a failure."""

    def send(phone: str, text: str) -> None:
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        body = json.dumps({"to": phone, "text": text}).encode()
        request = Request(address, body, headers, method="POST")  # noqa: S310 - settings check it
        with build_opener(_NoRedirect).open(request, timeout=TIMEOUT):
            pass

    return send


def beside_requests(outbox: Outbox, send_text: SendText) -> Callable[[str, str], None]:
    """A sender that returns at once."""

    def put(phone: str, text: str) -> None:
        outbox.put(f"a number ending in {phone[-2:]}", lambda: send_text(phone, text))

    return put
