"""What a person does at a page, in the language they read: look, press, fill in.

Texts are given in English, as the code has them; at a browser that speaks Russian their
translations are meant.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from gettext import GNUTranslations, NullTranslations
from pathlib import Path
from typing import Any

from selenium.common.exceptions import WebDriverException
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.wait import WebDriverWait

PATIENCE = 15  # seconds
# Between two pages there may be no body, or that of the last one, or a node of neither, for which
# ChromeDriver has no error of its own.
BETWEEN_PAGES = (WebDriverException,)

CATALOG = Path(__file__).parents[2] / "host_app/translations/ru/LC_MESSAGES/messages.mo"
_spoken: dict[str, str] = {}


def speak(browser: Chrome, language: str) -> None:
    """Let the browser ask for pages in this language."""
    browser.execute_cdp_cmd("Network.enable", {})
    headers = {"headers": {"Accept-Language": language}}
    browser.execute_cdp_cmd("Network.setExtraHTTPHeaders", headers)
    _spoken[str(browser.session_id)] = language


@contextmanager
def screen(browser: Chrome, width: int, height: int) -> Iterator[None]:
    """A screen of this size, in CSS pixels."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@contextmanager
def preferring(browser: Chrome, scheme: str) -> Iterator[None]:
    """Somebody who wants pages to be light, or dark."""
    preference = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [preference]})
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def waiting(browser: Chrome) -> WebDriverWait[Chrome]:
    """Patience, also while one page goes and the next one comes."""
    return WebDriverWait(browser, PATIENCE, ignored_exceptions=BETWEEN_PAGES)


def said(browser: Chrome, text: str, **values: Any) -> str:
    """A text of the pages as this browser shows it."""
    translations = NullTranslations()
    if _spoken.get(str(browser.session_id)) == "ru":
        with CATALOG.open("rb") as file:
            translations = GNUTranslations(file)
    translated = translations.gettext(text)
    return translated % values if values else translated


def wait_for(browser: Chrome, text: str, **values: Any) -> None:
    """Wait until the page says this."""
    wanted = said(browser, text, **values)
    waiting(browser).until(
        lambda browser: wanted in browser.find_element(By.TAG_NAME, "body").text,
        f"{wanted!r} did not appear",
    )


def wait_for_focus(browser: Chrome, field: str) -> None:
    """Wait until what is typed goes into this field; a page is shown before that."""
    waiting(browser).until(
        lambda browser: browser.switch_to.active_element.get_attribute("name") == field,
        f"{field} did not get the focus",
    )


def press(browser: Chrome, text: str) -> WebElement:
    """Press the button, or follow the link, with this text; give it back."""
    text = said(browser, text)
    wanted = f"//*[self::button or self::a][normalize-space()='{text}'] | //input[@value='{text}']"
    found = _shown(browser, By.XPATH, wanted)
    hit(browser, found)
    return found


def hit(browser: Chrome, found: WebElement) -> None:
    """Click at once: Bootstrap's smooth scrolling would move the thing away from under it."""
    browser.execute_script(
        "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", found
    )
    found.click()


def click(browser: Chrome, text: str) -> None:
    """Press a button, and wait until the page after it is there."""
    # The button itself tells: before it was found, the page at hand may have been another one.
    waiting(browser).until(staleness_of(press(browser, text)))
    waiting(browser).until(
        lambda browser: browser.execute_script("return document.readyState") == "complete"
    )


def write(browser: Chrome, field: str, value: str) -> None:
    """Put this into a field, whatever was in it."""
    fields = f"input[name={field}]:not([type=hidden]), textarea[name={field}]"
    found = _shown(browser, By.CSS_SELECTOR, fields)
    found.clear()
    found.send_keys(value)


def _shown(browser: Chrome, by: str, wanted: str) -> WebElement:
    """What is looked for, once it is there to see: a page or a script may have yet to show it."""

    def look(browser: Chrome) -> WebElement | None:
        found = browser.find_element(by, wanted)
        return found if found.is_displayed() else None

    return waiting(browser).until(look, f"{wanted} did not appear")


def enter(browser: Chrome, field: str, value: str, button: str) -> None:
    """Fill in a field, send the form, and wait for another page."""
    write(browser, field, value)
    click(browser, button)


def complaints(browser: Chrome) -> list[str]:
    """What the browser objects to, our own status codes apart."""
    return [
        entry["message"]
        for entry in browser.get_log("browser")
        if "the server responded with a status of" not in entry["message"]
    ]
