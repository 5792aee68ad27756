"""What a person does at a page, in the language they read: look, press, fill in.

Texts are given in English, as the code has them; at a browser that speaks Russian their
translations are meant.
"""

from gettext import GNUTranslations, NullTranslations
from pathlib import Path
from typing import Any

from selenium.common.exceptions import WebDriverException
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
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
    WebDriverWait(browser, PATIENCE, ignored_exceptions=BETWEEN_PAGES).until(
        lambda browser: wanted in browser.find_element(By.TAG_NAME, "body").text,
        f"{wanted!r} did not appear",
    )


def press(browser: Chrome, text: str) -> None:
    """Press the button, or follow the link, with this text."""
    text = said(browser, text)
    wanted = f"//*[self::button or self::a][normalize-space()='{text}'] | //input[@value='{text}']"
    # One that a script shows may have to be waited for.
    WebDriverWait(browser, PATIENCE, ignored_exceptions=BETWEEN_PAGES).until(
        lambda browser: browser.find_element(By.XPATH, wanted).is_displayed()
    )
    found = browser.find_element(By.XPATH, wanted)
    # At once: Bootstrap's smooth scrolling would move the button away from under the click.
    browser.execute_script(
        "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", found
    )
    found.click()


def click(browser: Chrome, text: str) -> None:
    """Press a button, and wait for the page after it."""
    before = browser.find_element(By.TAG_NAME, "html")
    press(browser, text)
    WebDriverWait(browser, PATIENCE, ignored_exceptions=BETWEEN_PAGES).until(staleness_of(before))


def write(browser: Chrome, field: str, value: str) -> None:
    """Put this into a field, whatever was in it."""
    found = browser.find_element(By.NAME, field)
    found.clear()
    found.send_keys(value)


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
