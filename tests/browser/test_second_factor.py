"""A person with a real browser sets up a second factor and a phone, and signs in with them."""

import re
import time
from collections.abc import Iterator

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.virtual_authenticator import (
    Transport,
    VirtualAuthenticatorOptions,
)

import hosting
from browser.hand import click, complaints, enter, press, wait_for, write
from browser.place import Place

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("look")]

PHONE = "+493012345678"
SENT = "It has six digits and was sent to %(number)s. It works once, for five minutes."


def set_up_app(browser: Chrome, place: Place) -> hosting.App:
    """With the present code. A half minute may end at any time, so that `next_code` signs in."""
    place.open(browser, "/security")
    press(browser, "Set up an authenticator app")
    wait_for(browser, "Scan this picture with the app, or enter the key below it.")
    picture = browser.find_element(By.CSS_SELECTOR, ".host-picture img")
    assert picture.get_property("naturalWidth") > 100
    secret = browser.find_element(By.CSS_SELECTOR, ".host-key").text.replace(" ", "")
    app = hosting.App(secret, [])
    enter(browser, "code", app.code(), "Continue")
    wait_for(browser, "Your recovery codes")
    codes = [item.text for item in browser.find_elements(By.CSS_SELECTOR, ".host-codes li")]
    return hosting.App(secret, codes)


def next_code(app: hosting.App) -> str:
    """What the app shows in half a minute: right as well, and not used yet."""
    return app.code(time.time() + 30)


def test_a_second_factor_is_set_up_used_and_turned_off(browser: Chrome, place: Place) -> None:
    """By the pages alone: app, recovery code, off again."""
    place.sign_in(browser)
    wait_for(browser, "You are signed in")
    app = set_up_app(browser, place)
    assert len(set(app.recovery_codes)) == 10
    download = browser.find_element(By.CSS_SELECTOR, "a[download]")
    text = browser.execute_async_script(
        "const done = arguments[1];"
        "done(decodeURIComponent(arguments[0].href.split(',').slice(1).join(',')))",
        download,
    )
    assert re.findall(r"^[0-9a-z]{5}-[0-9a-z]{5}$", text, re.MULTILINE) == app.recovery_codes
    browser.execute_script("window.print = () => { document.title = 'printed'; }")
    press(browser, "Print them")
    assert browser.title == "printed"
    press(browser, "I have kept them")
    wait_for(browser, "Unused recovery codes: %(number)d", number=10)

    place.sign_out(browser)
    place.sign_in(browser)
    wait_for(browser, "Second step")
    enter(browser, "code", "000000", "Continue")
    wait_for(browser, "This code is wrong, or was used before.")
    enter(browser, "code", next_code(app), "Continue")
    wait_for(browser, "You are signed in")

    place.sign_out(browser)
    place.sign_in(browser)
    wait_for(browser, "Second step")
    enter(browser, "code", app.recovery_codes[0], "Continue")
    wait_for(browser, "You are signed in")

    place.open(browser, "/security")
    press(browser, "Make new recovery codes")
    wait_for(browser, "You get ten new codes, and the old ones stop working.")
    enter(browser, "code", app.recovery_codes[1], "Continue")
    wait_for(browser, "Your recovery codes")
    new = browser.find_element(By.CSS_SELECTOR, ".host-codes li").text
    place.open(browser, "/security/app/remove")
    enter(browser, "code", new, "Continue")
    wait_for(browser, "The authenticator app is removed.")

    place.sign_out(browser)
    place.sign_in(browser)
    wait_for(browser, "You are signed in")
    assert complaints(browser) == []


def test_a_phone_is_added_and_signs_in(browser: Chrome, place: Place) -> None:
    """And cannot be used without the second factor, once there is one."""
    place.sign_in(browser)
    place.open(browser, "/security")
    press(browser, "Add a number")
    enter(browser, "phone", "+49 30 12345678", "Send me a code")
    wait_for(browser, SENT, number=PHONE)
    enter(browser, "code", place.gateway.wait_for(1)["text"][:6], "Continue")
    wait_for(browser, "You can sign in with a code sent to %(number)s.", number=PHONE)
    app = set_up_app(browser, place)

    place.sign_out(browser)
    place.open(browser, "/sign-in")
    press(browser, "Sign in with a code sent to your phone")
    enter(browser, "phone", PHONE, "Send me a code")
    wait_for(browser, SENT, number=PHONE)
    enter(browser, "code", place.gateway.wait_for(2)["text"][:6], "Continue")
    wait_for(browser, "Second step")
    enter(browser, "code", next_code(app), "Continue")
    wait_for(browser, "You are signed in")
    assert complaints(browser) == []


@pytest.fixture
def authenticator(browser: Chrome) -> Iterator[None]:
    """A device that makes passkeys, and that its owner unlocks."""
    options = VirtualAuthenticatorOptions()
    options.transport = Transport.INTERNAL
    options.has_resident_key = options.has_user_verification = True
    options.is_user_verified = True
    browser.add_virtual_authenticator(options)
    yield
    browser.remove_virtual_authenticator()


def test_a_passkey_is_made_used_and_removed(
    browser: Chrome, place: Place, authenticator: None
) -> None:
    """Alone, as the second step, and to remove itself."""
    place.sign_in(browser)
    place.open(browser, "/security")
    press(browser, "Add a passkey")
    wait_for(browser, "New passkey")
    write(browser, "label", "This computer")
    click(browser, "Make the passkey")
    wait_for(browser, "Your recovery codes")
    press(browser, "I have kept them")
    wait_for(browser, "This computer")

    place.sign_out(browser)
    place.open(browser, "/sign-in")
    click(browser, "Sign in with a passkey")
    wait_for(browser, "You are signed in")

    place.sign_out(browser)
    place.sign_in(browser)
    wait_for(browser, "Second step")
    click(browser, "Use a passkey")
    wait_for(browser, "You are signed in")

    place.open(browser, "/security")
    press(browser, "Remove")
    wait_for(browser, "Remove a passkey")
    click(browser, "Use a passkey")
    wait_for(browser, "The passkey %(name)s is removed.", name="This computer")
    place.sign_out(browser)
    place.sign_in(browser)
    wait_for(browser, "You are signed in")
    assert complaints(browser) == []


def test_whoever_cancels_is_told_what_else_there_is(
    browser: Chrome, place: Place, authenticator: None
) -> None:
    """No passkey of this service is on the device."""
    place.open(browser, "/sign-in")
    press(browser, "Sign in with a passkey")
    wait_for(browser, "No passkey was used. Try again, or choose another way.")
    write(browser, "email", place.person.email)
    enter(browser, "password", place.person.password, "Sign in")
    wait_for(browser, "You are signed in")


def test_who_guesses_is_told_to_wait(browser: Chrome, place: Place) -> None:
    """In words, with the time."""
    place.open(browser, "/sign-in")
    write(browser, "email", place.person.email)
    for _ in range(10):
        enter(browser, "password", "wrong", "Sign in")
        wait_for(browser, "The e-mail address or the password is wrong.")
    enter(browser, "password", "wrong", "Sign in")
    wait_for(browser, "Please wait %(minutes)d minutes, then try again.", minutes=6)
