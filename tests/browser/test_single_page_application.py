"""A single-page application on another origin, with oidc-client-ts in a real browser."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

import hosting
from browser.hand import wait_for
from browser.served import PACKAGE, served
from live import LiveHost
from npm_packages import installed

pytestmark = pytest.mark.browser


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Iterator[str]:
    """The origin of the application."""
    with served(installed(request.config.cache, PACKAGE)) as origin:
        yield origin


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
    wait_for(browser, "Nobody")

    press(browser, "#sign-in")
    wait_for(browser, "E-mail address")
    browser.find_element(By.NAME, "email").send_keys(person.email)
    browser.find_element(By.NAME, "password").send_keys(person.password)
    press(browser, "[name=submit]")
    wait_for(browser, "would like to:")
    press(browser, "[value=allow]")
    wait_for(browser, f"Hello, {person.name} <{person.email}>")
    first = tokens(browser)
    # Only userinfo and the id_token know them: the page asked both.
    assert first["profile"]["sub"] == person.id
    assert first["scope"] == application.scope

    press(browser, "#refresh")
    wait_for(browser, "Hello again")
    second = tokens(browser)
    # The access token says no more than its grant and when it expires: it may be the same one.
    assert second["refresh_token"] != first["refresh_token"]
    assert second["profile"]["sub"] == person.id

    press(browser, "#sign-out")
    wait_for(browser, "Signed out")
    assert browser.current_url.startswith(page)
    press(browser, "#sign-in")
    wait_for(browser, "E-mail address")  # the service has forgotten them too

    browser.find_element(By.NAME, "email").send_keys(person.email)
    browser.find_element(By.NAME, "password").send_keys(person.password)
    press(browser, "[name=submit]")
    wait_for(browser, "Hello, ")
    press(browser, "#revoke")
    wait_for(browser, "Revoked")
    refused = [
        entry["message"]
        for entry in browser.get_log("browser")
        if entry["level"] == "SEVERE" and "favicon" not in entry["message"]
    ]
    assert refused == []
