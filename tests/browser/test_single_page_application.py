"""A single-page application on another origin, with oidc-client-ts in a real browser."""

import json
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import quote

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

import hosting
from live import LiveHost, live_host
from npm_packages import installed

pytestmark = pytest.mark.browser

PACKAGE = Path(__file__).with_name("single_page")
PATIENCE = 20  # seconds


class Files(SimpleHTTPRequestHandler):
    """Serves the application's files and says nothing about it."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Iterator[str]:
    """The origin of the application."""
    files = partial(Files, directory=str(installed(request.config.cache, PACKAGE)))
    server = ThreadingHTTPServer(("127.0.0.1", 0), files)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[LiveHost]:
    with live_host(f"sqlite:///{tmp_path / 'idsync.sqlite3'}", tmp_path) as host:
        yield host


def await_text(browser: Chrome, text: str) -> None:
    WebDriverWait(browser, PATIENCE).until(
        lambda browser: text in browser.execute_script("return document.body.innerText"), text
    )


def press(browser: Chrome, selector: str) -> None:
    browser.find_element(By.CSS_SELECTOR, selector).click()


def tokens(browser: Chrome) -> Any:
    return json.loads(browser.find_element(By.ID, "tokens").get_attribute("textContent"))


def test_sign_in_userinfo_refresh_and_logout_from_another_origin(
    browser: Chrome, page: str, service: LiveHost
) -> None:
    """The library checks state, iss, nonce and signature claims; CORS lets it read each answer."""
    person = hosting.add_person(service.app, "Ада Лавлейс", "ada@example.org", "pass word")
    application = hosting.register_application(
        service.app,
        "Single page",
        "--public",
        "--post-logout-redirect-uri",
        f"{page}/",
        redirect_uri=f"{page}/",
    )
    settings = {"authority": service.url, "client_id": application.client_id}
    browser.get(f"{page}/#{quote(json.dumps(settings))}")
    await_text(browser, "Nobody")

    press(browser, "#sign-in")
    await_text(browser, "E-mail address")
    browser.find_element(By.NAME, "email").send_keys(person.email)
    browser.find_element(By.NAME, "password").send_keys(person.password)
    press(browser, "[name=submit]")
    await_text(browser, "would like to:")
    press(browser, "[value=allow]")
    await_text(browser, f"Hello, {person.name} <{person.email}>")
    first = tokens(browser)
    # Only userinfo and the id_token know them: the page asked both.
    assert first["profile"]["sub"] == person.id
    assert first["scope"] == application.scope

    press(browser, "#refresh")
    await_text(browser, "Hello again")
    second = tokens(browser)
    assert second["refresh_token"] != first["refresh_token"]
    assert second["access_token"] != first["access_token"]
    assert second["profile"]["sub"] == person.id

    press(browser, "#sign-out")
    await_text(browser, "Signed out")
    assert browser.current_url.startswith(page)
    press(browser, "#sign-in")
    await_text(browser, "E-mail address")  # the service has forgotten them too

    browser.find_element(By.NAME, "email").send_keys(person.email)
    browser.find_element(By.NAME, "password").send_keys(person.password)
    press(browser, "[name=submit]")
    await_text(browser, "Hello, ")
    press(browser, "#revoke")
    await_text(browser, "Revoked")
    refused = [
        entry["message"]
        for entry in browser.get_log("browser")
        if entry["level"] == "SEVERE" and "favicon" not in entry["message"]
    ]
    assert refused == []
