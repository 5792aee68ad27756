"""A forgotten password: somebody asks for a link, opens it and chooses a new one."""

from flask.testing import FlaskClient

import hosting

NEW = {"new": "a new password", "again": "a new password"}


def ask(browser: FlaskClient, email: str = "ada@example.org", path: str = "") -> None:
    answer = hosting.submit(browser, path or "/sign-in/forgotten", {"email": email})
    assert answer.headers["Location"] == "/sign-in/forgotten/sent"


def choose(browser: FlaskClient, link: str) -> int:
    """Open a link and choose a new password; the answer's status."""
    page = hosting.follow(browser, browser.get(link))
    if page.status_code != 200:
        return page.status_code
    return hosting.submit(browser, "/sign-in/new-password", NEW).status_code
