"""A host with an administrator at the console."""

import pytest
from flask import Flask

import console_kit


@pytest.fixture
def desk(app: Flask) -> console_kit.Desk:
    """An administrator, signed in by two factors."""
    return console_kit.sit_down(app)
