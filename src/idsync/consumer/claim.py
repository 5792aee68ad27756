"""The claim on the copy, kept alive by a thread as long as its owner lives."""

from __future__ import annotations

import os
import random
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sqlalchemy.exc import SQLAlchemyError

from idsync.consumer.errors import PullInProgress
from idsync.consumer.store import CopyStore

PAUSE = 0.05  # seconds between two attempts


@contextmanager
def claimed(store: CopyStore, *, seconds: float, wait: float) -> Iterator[str]:
    """Hold the right to change the copy, renewed before `seconds` pass; gives the holder's name.

    Raises PullInProgress when somebody else has it and keeps it for `wait` seconds.
    """
    holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(8)}"
    deadline = time.monotonic() + wait
    while not store.try_claim(holder, now=time.time(), until=time.time() + seconds):
        if time.monotonic() >= deadline:
            raise PullInProgress("Somebody else is pulling, or changing the copy.")
        time.sleep(PAUSE * random.uniform(1, 2))  # noqa: S311
    ended = threading.Event()
    renewing = threading.Thread(target=_renew, args=(store, holder, seconds, ended), daemon=True)
    renewing.start()
    try:
        yield holder
    finally:
        ended.set()
        renewing.join()
        # If the database is away, the claim runs out by itself.
        with suppress(SQLAlchemyError):
            store.release(holder)


def _renew(store: CopyStore, holder: str, seconds: float, ended: threading.Event) -> None:
    while not ended.wait(seconds / 3):
        # Busy or away: once more in a third of the time that is left for it.
        with suppress(SQLAlchemyError):
            store.renew(holder, time.time() + seconds)
