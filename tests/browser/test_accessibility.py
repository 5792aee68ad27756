"""axe-core finds nothing to object to, on any page, in either language, in light and in dark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

import console_kit
import hosting
from account_api.calling import register
from browser.hand import click, enter, preferring, press, wait_for, write
from browser.place import Place
from npm_packages import installed

pytestmark = pytest.mark.browser

RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations"]}).then(
  result => done(result.violations.map(one => [one.id, one.nodes.map(node => node.html)])),
  error => done([["axe", [String(error)]]]),
);
"""


@pytest.fixture(scope="session")
def axe(request: pytest.FixtureRequest) -> str:
    """The script of axe-core."""
    folder = installed(request.config.cache, Path(__file__).with_name("axe"))
    return (folder / "node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")


@pytest.fixture
def scheme(browser: Chrome, look: str) -> Iterator[None]:
    """What the person prefers: English pages in the light, Russian ones in the dark."""
    with preferring(browser, {"en": "light", "ru": "dark"}[look]):
        yield


def objections(browser: Chrome, axe: str) -> list[Any]:
    """What axe-core says of the page at hand."""
    browser.execute_script(axe)
    found: list[Any] = browser.execute_async_script(RUN)
    return found


def pages_of_a_visitor(browser: Chrome, place: Place) -> Iterator[str]:
    """Open the pages for which nobody need be signed in, one after the other."""
    for path in (
        "/",
        "/sign-in",
        "/sign-in/phone",
        "/sign-in/forgotten",
        "/sign-in/forgotten/sent",
        "/nowhere",
        "/oauth/authorize?client_id=unknown",
    ):
        place.open(browser, path)
        yield path
    place.open(browser, "/sign-in")
    write(browser, "email", place.person.email)
    enter(browser, "password", "wrong", "Sign in")
    yield "a wrong password"
    place.open(browser, "/sign-in/phone")
    enter(browser, "phone", "12", "Send me a code")
    yield "a wrong number"
    enter(browser, "phone", "+493012345678", "Send me a code")
    yield "the code of a phone"
    place.open(browser, "/sign-in/forgotten")
    enter(browser, "email", place.person.email, "Send me a link")
    browser.get(place.link(1))
    yield "a forgotten password"
    enter(browser, "new", "short", "Change the password")
    yield "passwords that differ"
    browser.get(place.link(1) + "x")
    place.open(browser, "/sign-in/new-password")
    yield "a link that is none"


def pages_of_a_person(browser: Chrome, place: Place) -> Iterator[str]:
    """Open those of somebody who is signed in."""
    place.sign_in(browser)
    for path in (
        "/",
        "/profile",
        "/profile/email",
        "/security",
        "/security/password",
        "/security/phone",
        "/security/passkeys/new",
        "/applications",
        "/activity",
        "/logout?client_id=unknown",
    ):
        place.open(browser, path)
        yield path
    place.open(browser, "/profile/email")
    enter(browser, "email", "king@example.org", "Send a link to it")
    yield "a link is sent"
    browser.get(place.link(1))
    yield "a new address"
    place.open(browser, "/profile")
    enter(browser, "name", " ", "Save")
    yield "no name"
    application = place.application("Bookshelf")
    place.open(browser, hosting.authorize_path(application))
    wait_for(browser, "%(application)s would like to:", application="Bookshelf")
    yield "consent"
    click(browser, "Allow")
    place.open(browser, "/applications")
    yield "a connected application"
    place.open(browser, "/security")
    click(browser, "Set up an authenticator app")
    yield "a new app"
    secret = browser.find_element(By.CSS_SELECTOR, ".host-key").text.replace(" ", "")
    app = hosting.App(secret, [])
    enter(browser, "code", app.code(), "Continue")
    wait_for(browser, "Your recovery codes")
    yield "recovery codes"
    press(browser, "I have kept them")
    yield "how you sign in, with a factor"
    for path in ("/security/app/remove", "/security/recovery-codes"):
        place.open(browser, path)
        yield path
    place.sign_out(browser)
    place.sign_in(browser)
    wait_for(browser, "Second step")
    yield "the second step"
    for _ in range(6):
        enter(browser, "code", "000000", "Continue")
        if not browser.find_elements(By.NAME, "code"):
            break
    wait_for(browser, "Too many tries")
    yield "too many tries"


def pages_of_an_administrator(browser: Chrome, place: Place) -> Iterator[str]:
    """Open those of the console."""
    host = place.host.app
    desk = console_kit.sit_down(host, console_kit.add_administrator(host, "Root", "r@example.org"))
    service = register(host, "Wiki", "--service-tag", "wiki")
    service.whole()
    cookie = desk.browser.get_cookie("identity_session")
    assert cookie is not None
    place.open(browser, "/sign-in")
    browser.add_cookie({"name": "identity_session", "value": cookie.value})
    person, application = f"/people/@{place.person.id}", f"/applications/{service.client.client_id}"
    for path in (
        "",
        "/people",
        "/people?q=nobody",
        "/people/new",
        person,
        f"{person}/edit",
        f"{person}/reset-factors",
        f"{person}/erase",
        "/applications",
        "/applications/new",
        application,
        f"{application}/edit",
        f"{application}/secret",
        "/keys",
        "/audit",
        "/audit?person=nobody",
    ):
        place.open(browser, "/administration" + path)
        yield path
    place.open(browser, "/administration/people/new")
    write(browser, "name", "Grace")
    enter(browser, "email", "no address", "Make the account")
    yield "a refused field"
    place.open(browser, f"/administration{application}/secret")
    click(browser, "Make a new secret")
    yield "a new secret"


@pytest.mark.parametrize(
    "pages", [pages_of_a_visitor, pages_of_a_person, pages_of_an_administrator]
)
def test_nothing_keeps_anybody_out(
    browser: Chrome, place: Place, axe: str, look: str, scheme: None, pages: Any
) -> None:
    """Labels, names, landmarks, contrast, order: WCAG 2.2 AA and axe-core's best practice."""
    found = {page: objections(browser, axe) for page in pages(browser, place)}
    assert len(found) > 10
    assert {page: said for page, said in found.items() if said} == {}
