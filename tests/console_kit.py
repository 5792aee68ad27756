"""An administrator at the console of a host in this process. Nothing here needs pytest."""

import re
from dataclasses import dataclass
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

import hosting

CONSOLE = "/administration"


@dataclass(frozen=True)
class Desk:
    """A browser in which an administrator is signed in by two factors."""

    app: Flask
    browser: FlaskClient
    person: hosting.Person

    def get(self, path: str = "", **query: str) -> TestResponse:
        """A page of the console."""
        return self.browser.get(CONSOLE + path, query_string=query)

    def text(self, path: str = "", **query: str) -> str:
        """A page as it is read: without tags, and each run of spaces one."""
        answer = self.get(path, **query)
        assert answer.status_code == 200, answer.text
        return readable(answer.text)

    def post(self, path: str, **fields: Any) -> TestResponse:
        """Send a form of the console with its token."""
        start = self.browser.get("/")
        token = hosting.hidden_fields(start.text)["csrf_token"]
        return self.browser.post(
            CONSOLE + path,
            data={"csrf_token": token, **fields},
            headers={"Referer": start.request.url},
        )

    def fill_in(self, path: str, **fields: Any) -> TestResponse:
        """Open a form, fill it in beside what it holds already, and send it."""
        return hosting.submit(
            self.browser, CONSOLE + path, {**filled_in(self.get(path).text), **fields}
        )

    def done(self, path: str, **fields: Any) -> str:
        """Send a form that leads on, and read the page it leads to."""
        answer = self.post(path, **fields)
        assert answer.status_code == 303, answer.text
        return readable(self.browser.get(answer.headers["Location"]).text)


def add_administrator(
    app: Flask, name: str = "Ada Lovelace", email: str = "ada@example.org"
) -> Any:
    return hosting.add_person(app, name, email, "correct horse", "--administrator")


def sit_down(app: Flask, person: hosting.Person | None = None) -> Desk:
    """Sign an administrator in, in a new browser, and set up their second factor."""
    person = person or add_administrator(app)
    browser = app.test_client()
    hosting.sign_in(browser, person)
    hosting.set_up_app(browser)
    return Desk(app, browser, person)


def readable(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page.partition("<main")[2]))


def filled_in(page: str) -> dict[str, Any]:
    """What a browser would send back of the fields of a page's form for change, unaltered."""
    form = re.search(r"<form\b[^>]*class=\"console-form\".*?</form>", page, re.DOTALL)
    fields: dict[str, Any] = {}
    for tag in re.findall(r"<input\b[^>]*>", form[0] if form else ""):
        attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        chosen = attributes.get("type") not in ("checkbox", "radio") or " checked" in tag
        if chosen and "name" in attributes and attributes.get("type") != "submit":
            name, value = attributes["name"], attributes.get("value", "")
            fields[name] = [*fields[name], value] if name in fields else [value]
    for name, text in re.findall(
        r'<textarea\b[^>]*name="(\w+)"[^>]*>(.*?)</textarea>', form[0] if form else "", re.DOTALL
    ):
        fields[name] = text.strip()
    for name, options in re.findall(
        r'<select\b[^>]*name="(\w+)"[^>]*>(.*?)</select>', form[0] if form else "", re.DOTALL
    ):
        chosen = re.findall(r'<option selected value="([^"]*)"', options)
        fields[name] = chosen or re.findall(r'<option value="([^"]*)"', options)[:1]
    return fields
