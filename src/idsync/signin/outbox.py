"""Messages are sent beside the request, so that the answer tells nothing: neither by its time nor
by an error. What failed is in the log; the person asks for another message after a while.

A message is tried a few times and lives in memory only: what was waiting when a process ends at
once is lost.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context
from smtplib import SMTPNotSupportedError, SMTPRecipientsRefused, SMTPResponseException
from threading import BoundedSemaphore, Lock

from flask import Flask, current_app

THREADS = 4

LONGEST_QUEUE = 1000
"""Messages; more are not taken, because whoever receives them does not keep up."""

_logger = logging.getLogger(__name__)


class Outbox:
    """Sends messages of one kind, each in a thread with an application context.

    pauses: seconds before each further try, where one failed by the network or the server's state.
    """

    def __init__(self, pauses: tuple[float, ...] = ()) -> None:
        self._pauses = pauses
        self._threads: ThreadPoolExecutor | None = None
        self._process = 0
        self._room = BoundedSemaphore(LONGEST_QUEUE)
        self._lock = Lock()

    def put(self, recipient: str, send: Callable[[], object]) -> None:
        """Call `send` beside the request. recipient: for the log, nothing that gives it away."""
        app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]
        with self._lock:
            # A server may have forked its workers since; threads stay behind.
            if self._threads is None or self._process != os.getpid():
                self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="idsync-messages")
                self._process = os.getpid()
                self._room = BoundedSemaphore(LONGEST_QUEUE)
            if not self._room.acquire(blocking=False):
                _logger.error("No message could be sent to %s: too many are waiting.", recipient)
                return
            done = self._threads.submit(_context().run, self._run, app, recipient, send)
            room = self._room
            done.add_done_callback(lambda _: room.release())

    def close(self) -> None:
        """Wait until what was put is sent, or has failed."""
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown()

    def _run(self, app: Flask, recipient: str, send: Callable[[], object]) -> None:
        for pause in (*self._pauses, None):
            try:
                with app.app_context():
                    send()
                return
            except Exception as error:
                if pause is None or not _may_pass(error):
                    # Neither the text, which may hold a code, nor an answer that may repeat it.
                    name = type(error).__name__
                    _logger.error("No message could be sent to %s: %s", recipient, name)
                    return
            time.sleep(pause)


def _context() -> Context:
    """What lines in the log are told to belong together by, which a host keeps in variables of its
    own; without the request, which is over when the message is sent.
    """
    kept = Context()
    for variable, value in copy_context().items():
        if not variable.name.startswith("flask."):
            kept.run(variable.set, value)
    return kept


def _may_pass(error: Exception) -> bool:
    """Whether another try may do better. SMTP's replies from 500 on are final (RFC 5321 §4.2.1)."""
    if isinstance(error, (SMTPRecipientsRefused, SMTPNotSupportedError)):
        return False
    if isinstance(error, SMTPResponseException):
        return error.smtp_code < 500
    return isinstance(error, OSError)
