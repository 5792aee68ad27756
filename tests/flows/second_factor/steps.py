"""The first step by phone, and where it leads."""

import re
from urllib.parse import urlsplit

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

import hosting

PHONE = "+493012345678"


def asks_for_second_step(answer: TestResponse) -> bool:
    return urlsplit(answer.headers.get("Location", "")).path == "/sign-in/second-factor"


def first_step_by_phone(browser: FlaskClient, capsys: pytest.CaptureFixture[str]) -> TestResponse:
    """With the code from the console, where a service that is set up for no phone writes it."""
    hosting.submit(browser, "/sign-in/phone", {"phone": PHONE})
    hosting.send_messages(browser.application)
    (code,) = re.findall(r"^Text to \+\d+: (\d{6}) ", capsys.readouterr().err, re.MULTILINE)
    return hosting.submit(browser, "/sign-in/phone/code", {"code": code})
