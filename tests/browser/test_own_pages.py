"""A person with a real browser looks after their own account, in either language."""

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

import hosting
from browser.hand import click, complaints, enter, wait_for, write
from browser.place import Place

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("look")]

NEW_PASSWORD = "four words are enough"


def test_a_forgotten_password_is_replaced_by_a_link(browser: Chrome, place: Place) -> None:
    """On the way to an application, which is reached in the end."""
    application = place.application("Bookshelf")
    place.open(browser, hosting.authorize_path(application))
    click(browser, "Forgotten your password?")
    enter(browser, "email", place.person.email, "Send me a link")
    wait_for(browser, "Look into your mail")
    browser.get(place.link(1))
    wait_for(browser, "New password")
    assert "/new-password/" not in browser.current_url
    write(browser, "new", NEW_PASSWORD)
    enter(browser, "again", "something else", "Change the password")
    wait_for(browser, "The two passwords are not the same.")
    write(browser, "new", NEW_PASSWORD)
    enter(browser, "again", NEW_PASSWORD, "Change the password")
    wait_for(browser, "Your password is changed. Sign in with it.")
    write(browser, "email", place.person.email)
    enter(browser, "password", NEW_PASSWORD, "Sign in")
    wait_for(browser, "%(application)s would like to:", application="Bookshelf")

    browser.get(place.link(1))
    wait_for(browser, "This link does not work any more")
    click(browser, "Send another link")
    wait_for(browser, "A new password")
    assert complaints(browser) == []


def test_name_and_address_are_changed(browser: Chrome, place: Place) -> None:
    """The address when the link sent to it was opened; then one signs in with it."""
    place.sign_in(browser)
    click(browser, "Name and e-mail address")
    enter(browser, "name", "Ada King", "Save")
    wait_for(browser, "Your name is changed.")
    wait_for(browser, "Not confirmed yet.")
    click(browser, "Change or confirm the address")
    enter(browser, "email", "king@example.org", "Send a link to it")
    wait_for(
        browser,
        "If %(email)s belongs to no other account, we sent a link to it. Open it within 30 "
        "minutes.",
        email="king@example.org",
    )
    browser.get(place.link(1))
    click(browser, "This is my address")
    wait_for(browser, "Your e-mail address is confirmed.")
    assert {place.mail.wait_for(number)["To"] for number in (2, 3)} == {
        place.person.email,
        "king@example.org",
    }
    place.sign_out(browser)
    place.open(browser, "/sign-in")
    write(browser, "email", "king@example.org")
    enter(browser, "password", place.person.password, "Sign in")
    wait_for(browser, "Ada King")
    assert complaints(browser) == []


def test_the_password_is_changed_and_everything_ended(browser: Chrome, place: Place) -> None:
    """And the page of recent events tells of both."""
    place.sign_in(browser)
    click(browser, "How you sign in")
    click(browser, "Change the password")
    write(browser, "new", NEW_PASSWORD)
    enter(browser, "again", NEW_PASSWORD, "Change the password")
    wait_for(browser, "Your password is changed. All other browsers are signed out.")
    click(browser, "Sign out everywhere")
    wait_for(browser, "You are signed out everywhere.")
    write(browser, "email", place.person.email)
    enter(browser, "password", NEW_PASSWORD, "Sign in")
    click(browser, "Recent activity")
    wait_for(browser, "Password changed")
    wait_for(browser, "Signed out everywhere")
    assert complaints(browser) == []


def test_an_application_is_connected_and_taken_off(browser: Chrome, place: Place) -> None:
    application = place.application("Bookshelf")
    place.sign_in(browser)
    place.open(browser, hosting.authorize_path(application))
    wait_for(browser, "%(application)s would like to:", application="Bookshelf")
    click(browser, "Allow")
    place.open(browser, "/applications")
    wait_for(browser, "Bookshelf")
    click(browser, "Take access back")
    wait_for(browser, "%(name)s has no access any more.", name="Bookshelf")


def test_the_language_is_chosen_and_kept(browser: Chrome, place: Place) -> None:
    """Whatever the browser asks for."""
    place.open(browser, "/")
    other = {"en": "Русский", "ru": "English"}[
        str(browser.find_element(By.TAG_NAME, "html").get_attribute("lang"))
    ]
    click(browser, other)
    place.open(browser, "/sign-in")
    heading = browser.find_element(By.TAG_NAME, "h1").text
    assert heading == {"English": "Sign in", "Русский": "Войти"}[other]
