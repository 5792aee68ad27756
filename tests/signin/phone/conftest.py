"""Somebody with a phone, and what was sent to all phones."""

import pytest
from flask import Flask

import hosting
from idsync.extension import EXTENSION
from signin.phone.texts import PHONE, Texts


@pytest.fixture
def texts(app: Flask) -> Texts:
    """Put in place of the thread that sends, so that a test need not wait for it."""
    texts = Texts()
    app.extensions[EXTENSION].sign_in.phone._codes._send_text = texts.put
    return texts


@pytest.fixture
def person(app: Flask) -> hosting.Person:
    return hosting.add_person(app, "Ada", "ada@example.org", "correct horse", "--phone", PHONE)
