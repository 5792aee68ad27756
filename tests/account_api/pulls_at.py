"""A pull at another time. Nothing here needs pytest."""

import time
from unittest import mock

from account_api.calling import Service


def pull_at(service: Service, cursor: str, *, seconds: int) -> str:
    """Ask for what changed since the cursor, so many seconds from now; the new cursor."""
    with mock.patch("idsync.account_api.pulls.time.time", return_value=time.time() + seconds):
        return str(service.changes(cursor)["cursor"])
