"""What processes do at once to sign in; see `crew`."""

from collections import Counter

from flask import Flask

from host_app.models import db, identity
from idsync import TooManyTries


def post(app: Flask, cookie: str, path: str, form: dict[str, str]) -> int:
    """Send a form with a browser's session cookie; the answer's status."""
    client = app.test_client()
    client.set_cookie(app.config["SESSION_COOKIE_NAME"], cookie)
    return client.post(path, data=form).status_code


def guess(app: Flask, email: str, times: int) -> Counter[str]:
    """Try a wrong password; how often it was wrong, and how often refused unseen."""
    outcomes: Counter[str] = Counter()
    for _ in range(times):
        try:
            user = identity.find_user(email)
            identity.check_password(user, "wrong", login=email)
            outcomes["wrong"] += 1
        except TooManyTries:
            outcomes["refused"] += 1
    return outcomes


def check_password(app: Flask, email: str, password: str, times: int) -> int:
    """Check a right password; how often it was accepted."""
    accepted = 0
    for _ in range(times):
        user = identity.find_user(email)
        accepted += identity.check_password(user, password, login=email)
        db.session.commit()
    return accepted


def choose_password(app: Flask, link: str, password: str) -> bool:
    """Choose a new password by a link; whether it was accepted."""
    with app.test_request_context():
        return identity.email.choose_password(link, password)
