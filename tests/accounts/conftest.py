"""The directory of the reference host, used as a host's own code would."""

from collections.abc import Iterator

import pytest
from flask import Flask

from host_app.models import identity
from idsync.accounts.directory import Directory
from idsync.assembly import Parts


@pytest.fixture
def parts(app: Flask) -> Iterator[Parts]:
    """The parts of the host, inside an application context."""
    with app.app_context():
        yield app.extensions["idsync"]


@pytest.fixture
def directory(parts: Parts) -> Directory:
    """The directory, inside an application context."""
    return identity.directory
