"""Somebody signed in at an application, as the tests of what comes then find them."""

from typing import Any

from flask import Flask
from flask.testing import FlaskClient

import hosting
from clients.flow import tokens_of

BYE = "https://app.example.org/bye"
"""Where the application wants people to come back to who have signed out."""


def signed_in_application(
    app: Flask, client: FlaskClient, *options: str
) -> tuple[hosting.Person, hosting.Client, dict[str, Any]]:
    """The person at this browser, the application with these options, and the tokens it got."""
    person = hosting.add_person(app)
    bye = ("--post-logout-redirect-uri", BYE)
    application = hosting.register_application(app, "Demo", *bye, *options)
    return person, application, tokens_of(client, application, person)
