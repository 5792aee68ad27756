"""The suite for a test: its clients registered, nobody signed in."""

import pytest
from flask import Flask

from conformance.suite import Suite


@pytest.fixture
def suite(app: Flask) -> Suite:
    return Suite(app)
