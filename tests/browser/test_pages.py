"""What the pages look like, as far as a program can tell."""

from collections.abc import Iterator

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from demo_services import Services
from host_app.demo.preparation import PEOPLE

pytestmark = pytest.mark.browser

PHONE = 360  # CSS pixels: the narrowest screen in common use
PATIENCE = 15  # seconds
READABLE = 4.5  # contrast of text, WCAG 2.2 §1.4.3

# Every text on the page with its colour and that of the nearest background behind it.
COLOURS = """
const shown = [];
for (const element of document.querySelectorAll("body *")) {
  const text = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  if (!text && element.tagName !== "INPUT") continue;
  if (!element.getClientRects().length) continue;
  let behind = element;
  while (behind && getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)")
    behind = behind.parentElement;
  shown.push([element.outerHTML.slice(0, 80), getComputedStyle(element).color,
              behind ? getComputedStyle(behind).backgroundColor : "rgb(255, 255, 255)"]);
}
return shown;
"""


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest, browser: Chrome) -> Iterator[str]:
    """What the person prefers."""
    preference = {"name": "prefers-color-scheme", "value": request.param}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [preference]})
    yield request.param
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.fixture
def phone(browser: Chrome) -> Iterator[None]:
    """A narrow screen."""
    size = {"width": PHONE, "height": 740, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    yield
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


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
    WebDriverWait(browser, PATIENCE).until(lambda browser: browser.execute_script(ready), selector)


def test_nothing_is_wider_than_a_phone(browser: Chrome, services: Services, phone: None) -> None:
    overhang = "const all = document.documentElement; return all.scrollWidth - all.clientWidth"
    for page in visit_every_page(browser, services):
        assert browser.execute_script("return innerWidth") == PHONE
        assert browser.execute_script(overhang) == 0, page


def test_every_text_can_be_read(browser: Chrome, services: Services, scheme: str) -> None:
    """In light and in dark, whatever Bootstrap thinks of it."""
    too_faint = []
    for page in visit_every_page(browser, services):
        paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (luminance(paper) < 0.2) is (scheme == "dark")
        for element, colour, behind in browser.execute_script(COLOURS):
            contrast = contrast_of(colour, behind)
            if contrast < READABLE:
                too_faint.append((page, element, colour, behind, round(contrast, 2)))
    assert too_faint == []


def contrast_of(one: str, other: str) -> float:
    """Contrast of two colours (WCAG 2.2, "contrast ratio")."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of `rgb(…)` (WCAG 2.2); translucent colours are not for text."""
    assert colour.startswith("rgb("), colour
    channels = [int(part) / 255 for part in colour[4:-1].split(",")]
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
