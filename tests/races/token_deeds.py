"""What racing processes do with tokens, and what ends them: see `crew`."""

import time
from contextvars import Context
from typing import Any

from flask import Flask

from host_app.models import db, identity
from idsync.accounts.change import Change
from idsync.audit.events import COMMAND


def act(app: Flask, pause: float, deed: str, *arguments: Any) -> Any:
    """Wait for `pause` seconds, so that now one, now the other comes first; then act."""
    time.sleep(pause)
    return {"post": post, "change": change}[deed](app, *arguments)


def post(app: Flask, path: str, form: dict[str, str], auth: tuple[str, str]) -> tuple[int, Any]:
    """Status and JSON of the answer."""
    client = app.test_client(use_cookies=False)
    # A context of its own: inside the crew's, the request would share its database session.
    response = Context().run(client.post, path, data=form, auth=auth)
    return response.status_code, response.json


def change(app: Flask, subject: str, changes: dict[str, Any]) -> None:
    """Change an account as a command would."""
    identity.directory.change(subject, Change(**changes), actor=COMMAND)
    db.session.commit()
