"""The database of commands that are killed, looked at from this process."""

from collections.abc import Iterator

import pytest
from flask import Flask


@pytest.fixture(autouse=True)
def context(host: Flask) -> Iterator[None]:
    """Inside an application context of the host in this process."""
    with host.app_context():
        yield
