"""How a text reaches a phone: the console, an HTTP gateway, or a function of the host.

Messages are sent beside the request, so that the answer tells nothing: neither by its time nor by
an error. What failed is in the log; the person asks for another code after a minute.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.request import HTTPRedirectHandler, Request, build_opener

from flask import Flask, current_app

SendText = Callable[[str, str], object]
"""Called with a number (E.164) and a text; raises where the message was not accepted."""

TIMEOUT = 10
"""Seconds a gateway may take."""

THREADS = 4

_logger = logging.getLogger(__name__)


class Outbox:
    """Hands messages to a sender, each in a thread."""

    def __init__(self, send_text: SendText) -> None:
        self._send_text = send_text
        self._threads: ThreadPoolExecutor | None = None

    def put(self, phone: str, text: str) -> None:
        """Send a message beside the request."""
        if self._threads is None:  # made here, after a server has forked its workers
            self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="idsync-texts")
        app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]
        self._threads.submit(self._send, app, phone, text)

    def _send(self, app: Flask, phone: str, text: str) -> None:
        try:
            with app.app_context():
                self._send_text(phone, text)
        except Exception as error:
            # Neither the text, which holds the code, nor an answer that may repeat it.
            _logger.error(
                "No message could be sent to a number ending in %s: %s",
                phone[-2:],
                type(error).__name__,
            )


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
