"""Applications that are told when a session ends, and the command that tells them.

Nothing here needs pytest.
"""

import time
from unittest import mock

from flask import Flask
from sqlalchemy import text

import hosting
from host_app.models import db


def register(app: Flask, address: str, *options: str, **settings: str) -> hosting.Client:
    """An application with this back-channel address; `options` are those of the command."""
    options = ("--first-party", "--backchannel-logout-uri", address, *options)
    return hosting.register_application(app, "Listening", *options, **settings)


def deliver(app: Flask, *, after: float = 0) -> str:
    """Send what is due so many seconds from now; what the command says."""
    with mock.patch("time.time", return_value=time.time() + after):
        return str(hosting.run(app, "idsync", "deliver", "--once"))


def notices(app: Flask) -> int:
    """How many logout tokens there are to be told of, sent already or not."""
    with app.app_context():
        return int(db.session.execute(text("SELECT count(*) FROM idsync_logout")).scalar_one())
