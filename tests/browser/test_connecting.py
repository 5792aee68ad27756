"""The single-page application of docs/connect-an-application.md, in a real browser."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

import hosting
from browser.hand import click, enter, wait_for, write
from browser.served import PACKAGE, served
from clients import connecting
from live import LiveHost
from npm_packages import installed

pytestmark = pytest.mark.browser

# What a bundler would do: say where the two packages are.
HTML = """<!doctype html>
<script type="importmap">{"imports": {
  "oidc-client-ts": "/node_modules/oidc-client-ts/dist/esm/oidc-client-ts.js",
  "jwt-decode": "/node_modules/jwt-decode/build/esm/index.js"
}}</script>
<p id="who"></p> <button id="sign-in">In</button> <button id="sign-out">Out</button>
<script type="module" src="/page.js"></script>
"""


@pytest.fixture
def board(request: pytest.FixtureRequest, service: LiveHost, tmp_path: Path) -> Iterator[str]:
    """The origin of the page's application, registered as the page says."""
    folder = tmp_path / "board"
    shutil.copytree(installed(request.config.cache, PACKAGE), folder)
    text = connecting.section("A browser")
    (code,) = connecting.blocks(text, "js")
    with served(folder) as origin:
        client = connecting.register(service, text, moved=("https://board.example.org", origin))
        code = code.replace(connecting.ISSUER, service.url).replace("app_…", client.client_id)
        (folder / "page.js").write_text(code, encoding="utf-8")
        (folder / "index.html").write_text(HTML, encoding="utf-8")
        yield origin


def test_the_page_signs_somebody_in_and_out(browser: Chrome, board: str, service: LiveHost) -> None:
    """Nothing of it is left in the browser's storage, and signing out ends it at the service."""
    person = hosting.add_person(service.app)
    browser.get(f"{board}/")
    click(browser, "In")
    wait_for(browser, "Password")
    write(browser, "email", person.email)
    enter(browser, "password", person.password, "Sign in")
    wait_for(browser, "%(application)s would like to:", application="Board")
    click(browser, "Allow")
    wait_for(browser, person.name)
    stored = browser.execute_script(
        "return JSON.stringify([{...localStorage}, {...sessionStorage}])"
    )
    assert "at_" not in stored
    assert "rt_" not in stored

    click(browser, "Out")
    assert browser.current_url.startswith(board)
    click(browser, "In")
    wait_for(browser, "Password")


def test_the_page_says_that_somebody_refused(
    browser: Chrome, board: str, service: LiveHost
) -> None:
    """Instead of signing anybody in."""
    person = hosting.add_person(service.app)
    browser.get(f"{board}/")
    click(browser, "In")
    wait_for(browser, "Password")
    write(browser, "email", person.email)
    enter(browser, "password", person.password, "Sign in")
    click(browser, "Refuse")
    wait_for(browser, "Not signed in")
