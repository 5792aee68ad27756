"""Phones, what was sent to them, and people who ask for codes and enter them."""

import re

from flask.testing import FlaskClient

import hosting

PHONE, NOBODYS, NEW = "+493012345678", "+493087654321", "+79261234567"


class Texts:
    """The phones of this test: what was sent to each."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []

    def put(self, phone: str, text: str) -> None:
        self.sent.append((phone, text))

    def code(self) -> str:
        found = re.match(r"(\d{6}) is your code for localhost\.", self.sent[-1][1])
        assert found, self.sent
        return found[1]


def ask(browser: FlaskClient, phone: str = PHONE) -> int:
    return hosting.submit(browser, "/sign-in/phone", {"phone": phone}).status_code


def enter(browser: FlaskClient, code: str) -> int:
    return hosting.submit(browser, "/sign-in/phone/code", {"code": code}).status_code


def wrong(code: str) -> str:
    return f"{(int(code) + 1) % 1_000_000:06}"
