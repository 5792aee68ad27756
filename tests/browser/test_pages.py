"""What the pages look like, as far as a program can tell."""

from collections.abc import Iterator

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from browser.hand import preferring, screen, waiting
from browser.looks import faint_texts, luminance, overhang
from demo_services import Services
from host_app.demo.preparation import PEOPLE

pytestmark = pytest.mark.browser

PHONE = 360  # CSS pixels: the narrowest screen in common use


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest, browser: Chrome) -> Iterator[str]:
    """What the person prefers."""
    with preferring(browser, request.param):
        yield request.param


@pytest.fixture
def phone(browser: Chrome) -> Iterator[None]:
    """A narrow screen."""
    with screen(browser, PHONE, 740):
        yield


def visit_every_page(browser: Chrome, services: Services) -> Iterator[str]:
    """Open one page after the other."""
    for path in (
        "/",
        "/sign-in",
        "/sign-in/phone",
        "/nowhere",
        "/oauth/authorize?client_id=unknown",
    ):
        browser.get(services.identity + path)
        yield path
    person = PEOPLE[3]
    browser.get(services.application)
    browser.find_element(By.NAME, "email").send_keys(person.email)
    browser.find_element(By.NAME, "password").send_keys("wrong")
    browser.find_element(By.TAG_NAME, "button").click()
    wait_for_style(browser, "#problem")
    yield "the application, wrong password"
    browser.find_element(By.NAME, "password").send_keys(person.password)
    browser.find_element(By.TAG_NAME, "button").click()
    wait_for_style(browser, "#tag")
    yield "the application, signed in"
    browser.get(services.application + "/copy")
    yield "the application's copy"
    browser.get(services.application + "/sign-in")
    browser.find_element(By.NAME, "email").send_keys(person.email)
    browser.find_element(By.NAME, "password").send_keys("wrong")
    browser.find_element(By.NAME, "submit").click()
    wait_for_style(browser, "#problem")
    yield "wrong password"
    browser.find_element(By.NAME, "password").send_keys(person.password)
    browser.find_element(By.NAME, "submit").click()
    wait_for_style(browser, "[name=decision]")
    yield "consent"
    browser.get(services.identity)
    assert "You are signed in" in browser.page_source
    yield "signed in"
    for path in (
        "/security",
        "/security/password",
        "/security/phone",
        "/security/passkeys/new",
        "/applications",
    ):
        browser.get(services.identity + path)
        yield path


def wait_for_style(browser: Chrome, selector: str) -> None:
    """Wait for the page that has such an element, and for its style sheets.

    Selenium waits for neither after a click.
    """
    ready = (
        f"return Boolean(document.querySelector('{selector}')) && document.readyState == 'complete'"
    )
    waiting(browser).until(lambda browser: browser.execute_script(ready), selector)


def test_nothing_is_wider_than_a_phone(browser: Chrome, services: Services, phone: None) -> None:
    for page in visit_every_page(browser, services):
        assert browser.execute_script("return innerWidth") == PHONE
        assert overhang(browser) == 0, page


def test_every_text_can_be_read(browser: Chrome, services: Services, scheme: str) -> None:
    """In light and in dark, whatever Bootstrap thinks of it."""
    too_faint = []
    for page in visit_every_page(browser, services):
        paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (luminance(paper) < 0.2) is (scheme == "dark")
        too_faint += [(page, *faint) for faint in faint_texts(browser)]
    assert too_faint == []
