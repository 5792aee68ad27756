"""docs/signing-in.md: its example of a sign-in, and the names it tells hosts to use."""

import re
import textwrap
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask, redirect, url_for

import hosting
from host_app.models import User, identity
from idsync import IdSync

PAGE = (Path(__file__).parents[2] / "docs/signing-in.md").read_text(encoding="utf-8")


def sign_in(email: str, password: str) -> Any:
    """What the example's view answers to a form; None where it would show the page again."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    block = block.replace('"second_factor"', '"signing_in.second_factor"')
    field = SimpleNamespace
    names: dict[str, Any] = {
        "User": User,
        "identity": identity,
        "redirect": redirect,
        "url_for": url_for,
        "form": field(email=field(data=email), password=field(data=password)),
        "next_address": "/next",
    }
    exec(f"def view():\n{textwrap.indent(block, '    ')}", names)  # noqa: S102
    return names["view"]()


@pytest.mark.parametrize("password", ["correct horse", "a guess"])
def test_the_example_signs_in_with_the_right_password_only(app: Flask, password: str) -> None:
    """Nobody with the wrong one."""
    person = hosting.add_person(app)
    with app.test_request_context(method="POST"):
        answer = sign_in(person.email, password)
        assert (answer is not None) is (password == person.password)
        assert (identity.signed_in() is not None) is (password == person.password)


def test_the_example_leads_to_the_second_step(app: Flask) -> None:
    """Whoever has a second factor is not signed in yet."""
    person = hosting.add_person(app)
    with app.test_client() as browser:
        hosting.sign_in(browser, person)
        hosting.set_up_app(browser)
    with app.test_request_context(method="POST"):
        answer = sign_in(person.email, person.password)
        assert answer.headers["Location"] == "/sign-in/second-factor?next=/next"
        assert identity.signed_in() is None


def test_every_name_of_the_page_exists() -> None:
    """`identity.email.confirm(user, link)`, and what stands beside it without `identity`."""
    named = re.findall(r"`identity\.(\w+)(?:\.(\w+))?(\([^`]*\))?`(?:, `(\w+)\()?", PAGE)
    assert len(named) > 20
    for first, second, _, beside in named:
        reached = getattr(IdSync, first)
        for name in filter(None, (second, beside)):
            kind = getattr(import_module(IdSync.__module__), reached.fget.__annotations__["return"])
            made_with = kind.__init__.__annotations__  # `offered` is set when the object is made
            assert hasattr(kind, name) or name in made_with, f"{first}.{name}"
