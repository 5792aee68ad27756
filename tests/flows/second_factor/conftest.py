"""Ada, who has a second factor; an application; and a browser of somebody else."""

from dataclasses import dataclass

import pytest
from flask import Flask
from flask.testing import FlaskClient

import hosting
from flows.second_factor.steps import PHONE


@dataclass
class Ada:
    """A person with every first factor and a second one; `own` is her browser."""

    person: hosting.Person
    app: hosting.App
    own: FlaskClient


@pytest.fixture
def ada(app: Flask, client: FlaskClient) -> Ada:
    person = hosting.add_person(app, "Ada", "ada@example.org", "correct horse", "--phone", PHONE)
    hosting.sign_in(client, person)
    return Ada(person, hosting.set_up_app(client), client)


@pytest.fixture
def application(app: Flask) -> hosting.Client:
    return hosting.register_application(app, "Ours", "--first-party")


@pytest.fixture
def other(app: Flask) -> FlaskClient:
    """Somebody else's browser."""
    return app.test_client()
