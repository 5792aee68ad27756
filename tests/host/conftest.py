"""A host whose mail is kept, and somebody signed in at it."""

import re
import time

import pytest
from flask import Flask
from flask.testing import FlaskClient

import hosting
from idsync.extension import EXTENSION

PATIENCE = 30  # seconds until a mail counts as missing; it is sent beside requests


class Mailbox:
    """What was sent: addresses, subjects and texts."""

    def __init__(self) -> None:
        self.mails: list[tuple[str, str, str]] = []

    def put(self, address: str, subject: str, text: str) -> None:
        self.mails.append((address, subject, text))

    def wait_for(self, number: int) -> tuple[str, str, str]:
        """The mail with this number, counted from 1."""
        deadline = time.monotonic() + PATIENCE
        while len(self.mails) < number:
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.mails} came, not {number}.")
            time.sleep(0.01)
        return self.mails[number - 1]

    def link(self, number: int) -> str:
        """The path of the link in that mail."""
        found = re.search(r"http://localhost(/\S+)", self.wait_for(number)[2])
        assert found, self.mails
        return found[1]


@pytest.fixture
def mailbox(app: Flask) -> Mailbox:
    """All mail of this host."""
    kept = Mailbox()
    app.extensions[EXTENSION].sign_in.email._send_mail = kept.put
    return kept


@pytest.fixture
def person(app: Flask, client: FlaskClient, mailbox: Mailbox) -> hosting.Person:
    """Somebody signed in at `client`."""
    person = hosting.add_person(app)
    hosting.sign_in(client, person)
    return person


@pytest.fixture
def elsewhere(app: Flask, person: hosting.Person) -> FlaskClient:
    """Another browser of the same person."""
    browser = app.test_client()
    hosting.sign_in(browser, person)
    return browser
