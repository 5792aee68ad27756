"""A person with a real browser signs in at the demo application."""

import pytest
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser.hand import click, complaints, press, wait_for, wait_for_focus
from demo_services import Services
from host_app.demo.preparation import PEOPLE, DemoPerson

pytestmark = pytest.mark.browser

ADA, ANNA, *_ = PEOPLE
WITH_SERVICE = "Sign in with the identity service"


def fill_in(browser: Chrome, person: DemoPerson, password: str | None = None) -> None:
    """Fill in the sign-in form and send it."""
    wait_for(browser, "E-mail address")
    browser.find_element(By.NAME, "email").send_keys(person.email)
    browser.find_element(By.NAME, "password").send_keys(password or person.password)
    press(browser, "Sign in")


@pytest.mark.parametrize("kind", ["services", "secure_services"])
def test_a_person_signs_in_agrees_and_is_known(
    browser: Chrome, kind: str, request: pytest.FixtureRequest
) -> None:
    """Sign-in, consent, the application; then once more, without being asked anything.

    Under TLS this proves that the CSRF check gets the referrer it wants.
    """
    services = request.getfixturevalue(kind)
    browser.get(services.application)
    click(browser, WITH_SERVICE)
    fill_in(browser, ANNA)
    wait_for(browser, "Bookshelf would like to:")
    assert browser.current_url.startswith(services.identity)
    assert ANNA.name in browser.page_source
    press(browser, "Allow")
    wait_for(browser, f"Hello, {ANNA.name}!")
    assert browser.current_url == services.application + "/"
    assert ANNA.email in browser.page_source
    assert "student" in browser.page_source
    cookies = {cookie["name"]: cookie for cookie in browser.get_cookies()}
    assert cookies["identity_session"]["secure"] is services.identity.startswith("https:")
    assert cookies["identity_session"]["httpOnly"] is True

    press(browser, "Sign out here")
    wait_for(browser, "Nobody is signed in.")
    press(browser, WITH_SERVICE)
    wait_for(browser, f"Hello, {ANNA.name}!")
    assert complaints(browser) == []


def test_a_person_signs_in_at_the_application_and_changes_their_name(
    browser: Chrome, services: Services
) -> None:
    """By the application's own copy; the identity service shows the new name too."""
    browser.get(services.application)
    omar = PEOPLE[3]
    browser.find_element(By.NAME, "email").send_keys(omar.email)
    browser.find_element(By.NAME, "password").send_keys("wrong", Keys.ENTER)
    wait_for(browser, "is wrong")
    browser.find_element(By.NAME, "password").send_keys(omar.password, Keys.ENTER)
    wait_for(browser, f"Hello, {omar.name}!")
    browser.find_element(By.NAME, "tag").send_keys("reader")
    name = browser.find_element(By.NAME, "name")
    name.clear()
    name.send_keys("عمر خیام")
    press(browser, "Change")
    wait_for(browser, "Hello, عمر خیام!")
    assert "reader" in browser.page_source
    press(browser, "See the copy")
    wait_for(browser, "may come in with a password")
    press(browser, "Pull now")
    wait_for(browser, "changes:")
    press(browser, "Back to the start")
    wait_for(browser, "Change it everywhere")
    name = browser.find_element(By.NAME, "name")
    name.clear()
    name.send_keys(omar.name, Keys.ENTER)
    wait_for(browser, f"Hello, {omar.name}!")
    assert complaints(browser) == []


def test_a_wrong_password_is_told_and_can_be_corrected(browser: Chrome, services: Services) -> None:
    browser.get(services.identity + "/sign-in")
    fill_in(browser, ADA, "wrong")
    wait_for(browser, "The e-mail address or the password is wrong.")
    assert browser.find_element(By.NAME, "email").get_attribute("value") == ADA.email
    wait_for_focus(browser, "password")
    browser.switch_to.active_element.send_keys(ADA.password, Keys.ENTER)
    wait_for(browser, "You are signed in")
    press(browser, "Sign out")
    wait_for(browser, "One account for all your services")


def test_a_refusal_reaches_the_application(browser: Chrome, services: Services) -> None:
    browser.get(services.application)
    click(browser, WITH_SERVICE)
    fill_in(browser, ADA)
    wait_for(browser, "Bookshelf would like to:")
    press(browser, "Refuse")
    wait_for(browser, "access_denied")
    assert browser.current_url.startswith(services.application)


def test_the_keyboard_is_enough(browser: Chrome, services: Services) -> None:
    """From the sign-in page to the application without a pointer; one always sees where one is."""
    browser.get(services.application + "/sign-in")
    wait_for(browser, "E-mail address")

    def type_keys(*keys: str) -> None:
        ActionChains(browser).send_keys(*keys).perform()

    def focus_shows() -> bool:
        style = browser.execute_script(
            "const s = getComputedStyle(document.activeElement);"
            "return [s.outlineStyle, s.outlineWidth, s.boxShadow]"
        )
        return (style[0] != "none" and style[1] != "0px") or style[2] != "none"

    wait_for_focus(browser, "email")
    assert focus_shows()
    grace = PEOPLE[2]
    type_keys(grace.email, Keys.TAB)
    assert focus_shows()
    type_keys(grace.password, Keys.TAB)
    assert browser.switch_to.active_element.get_attribute("type") == "submit"
    assert focus_shows()
    type_keys(Keys.ENTER)
    wait_for(browser, "Bookshelf would like to:")
    type_keys(Keys.TAB)
    assert browser.switch_to.active_element.text == "Allow"
    assert focus_shows()
    type_keys(Keys.TAB)
    assert browser.switch_to.active_element.text == "Refuse"
    ActionChains(browser).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()
    assert browser.switch_to.active_element.text == "Allow"
    type_keys(Keys.SPACE)
    wait_for(browser, f"Hello, {grace.name}!")
