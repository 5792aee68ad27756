"""What stands in a browser's cookies about its session.

The Flask session cookie, signed by the host, holds the row's id, and for Flask-Login the user id
that carries the epoch. Ids are hex, the form every kind of session storage can keep.
"""

from __future__ import annotations

import flask_login
from flask import current_app, request, session
from werkzeug.datastructures import ImmutableMultiDict

FIELD = "_idsync_session"
PREVIOUS_FIELD = "_idsync_previous"
"""The session that was set aside to ask somebody to sign in again."""


def session_id() -> bytes | None:
    """The id of the session row that this browser names."""
    named = from_hex(session.get(FIELD))
    return named if len(named) == 16 else None


def keep(session_id: bytes, user_id: str) -> None:
    """Name a session row, and to Flask-Login its user."""
    session[FIELD] = session_id.hex()
    session["_user_id"] = user_id


def forget() -> None:
    """Name no session row any more."""
    session.pop(FIELD, None)


def keep_previous(session_id: bytes) -> None:
    """Name the row of a session that was set aside."""
    session[PREVIOUS_FIELD] = session_id.hex()


def take_previous() -> bytes:
    """The id of a session that was set aside, named for the last time; empty without one."""
    return from_hex(session.pop(PREVIOUS_FIELD, None))


def from_hex(text: object) -> bytes:
    """Bytes from hex; none for anything else."""
    try:
        return bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        return b""


def drop_odd_remember_cookie() -> None:
    """Flask-Login 0.6.3 fails with a TypeError on a remember cookie that is not ASCII."""
    name = current_app.config.get("REMEMBER_COOKIE_NAME", flask_login.COOKIE_NAME)
    if not request.cookies.get(name, "").isascii():
        kept = [
            (other, value) for other, value in request.cookies.items(multi=True) if other != name
        ]
        request.cookies = ImmutableMultiDict(kept)
