"""Somebody signed in at one browser, and another browser."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

import hosting


@pytest.fixture
def person(app: Flask, client: FlaskClient) -> hosting.Person:
    """Signed in at `client`."""
    person = hosting.add_person(app)
    hosting.sign_in(client, person)
    return person


@pytest.fixture
def other(app: Flask) -> FlaskClient:
    return app.test_client()
