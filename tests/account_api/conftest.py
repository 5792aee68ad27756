"""A host with a service."""

import pytest
from flask import Flask

from account_api.calling import Service, register


@pytest.fixture
def service(app: Flask) -> Service:
    """The service `Wiki`, with the right `accounts` and the tag `wiki`."""
    return register(app, "Wiki", "--service-tag", "wiki")
