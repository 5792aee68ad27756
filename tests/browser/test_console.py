"""An administrator with a real browser: every journey through the console, wide and narrow."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

import console_kit
import hosting
from account_api.calling import Service, register
from browser.hand import (
    click,
    complaints,
    hit,
    preferring,
    said,
    screen,
    speak,
    wait_for,
    wait_for_focus,
    waiting,
    write,
)
from browser.looks import faint_texts, overhang
from databases import sqlite_url
from live import LiveHost, live_host

pytestmark = pytest.mark.browser

HTTPS_ONLY = (
    "%(uri)s must be https, http on a loopback host, or a private-use scheme with a dot such as "
    "org.example.app:/callback"
)


class Visit:
    """An administrator at a browser, reading one language. Texts are given in English."""

    def __init__(self, browser: Chrome, host: LiveHost, language: str) -> None:
        self.browser, self.host, self.language = browser, host, language

    def open(self, path: str = "") -> None:
        self.browser.get(self.host.url + "/administration" + path)

    def go(self, text: str) -> None:
        """Press a button or follow a link, and wait for another page."""
        click(self.browser, text)

    def type(self, **fields: str) -> None:
        for name, value in fields.items():
            write(self.browser, name, value)

    def sees(self, text: str) -> None:
        wait_for(self.browser, text)

    def text_of(self, selector: str) -> str:
        return str(self.browser.find_element(By.CSS_SELECTOR, selector).text)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveHost]:
    folder = tmp_path_factory.mktemp("console")
    with live_host(sqlite_url(folder), folder, **hosting.NO_LIMITS) as running:
        yield running


@pytest.fixture(scope="module")
def desk(host: LiveHost) -> console_kit.Desk:
    """Signed in by the pages, in this process; the browser gets the cookie."""
    return console_kit.sit_down(host.app)


@pytest.fixture
def visit(browser: Chrome, host: LiveHost, desk: console_kit.Desk, look: str) -> Visit:
    come_in(browser, host, desk)
    return Visit(browser, host, look)


def come_in(browser: Chrome, host: LiveHost, desk: console_kit.Desk) -> None:
    browser.get(host.url + "/sign-in")
    session = desk.browser.get_cookie("identity_session")
    assert session is not None
    browser.add_cookie({"name": "identity_session", "value": session.value})


def test_a_person_is_made_found_changed_disabled_and_erased(visit: Visit) -> None:
    """The services hear of it meanwhile, and the page tells when."""
    service = register(visit.host.app, "Wiki", "--service-tag", "wiki")
    cursor = service.whole()["cursor"]
    visit.open()
    visit.go("People")
    visit.go("New person")
    visit.type(name="Grace Hopper", email="grace@example.org", tags="wiki")
    visit.go("Make the account")
    visit.sees("The account is made.")
    visit.type(tag="math")
    visit.go("Add")
    assert "math" in visit.text_of("main")
    visit.go("People")
    visit.type(q="grace")
    visit.go("Search")
    visit.go("Grace Hopper")
    visit.sees("grace@example.org")
    visit.go("Change")
    visit.type(name="Grace B. Hopper")
    visit.go("Save")
    visit.sees("Saved.")
    assert visit.text_of("h1") == "Grace B. Hopper"
    visit.go("Disable everywhere")
    visit.sees("An administrator disabled this account; services cannot enable it.")
    visit.sees("not yet")
    service.changes(service.changes(cursor)["cursor"])
    visit.browser.refresh()
    visit.sees("has it")
    visit.go("Enable")
    visit.go("Erase")
    visit.type(typed="something else")
    visit.go("Erase for good")
    visit.sees("This is not the id of this person.")
    visit.type(typed=visit.text_of("#hint code"))
    visit.go("Erase for good")
    visit.sees("The account is erased.")
    assert complaints(visit.browser) == []


def test_an_application_is_registered_refused_and_given_a_new_secret(visit: Visit) -> None:
    """What is unsafe is refused at its field; each secret is shown once and works."""
    visit.open()
    visit.go("Applications")
    visit.go("Register an application")
    visit.type(name="A new one", redirect_uri="http://app.example/")
    hit(visit.browser, visit.browser.find_element(By.NAME, "accounts"))
    visit.go("Register")
    field = visit.browser.find_element(By.NAME, "redirect_uri")
    beside = field.find_element(By.XPATH, "..").text
    assert said(visit.browser, HTTPS_ONLY, uri="http://app.example/") in beside
    visit.type(redirect_uri="https://app.example/callback")
    visit.go("Register")
    old = visit.text_of("#secret")
    client_id = visit.text_of("main code")
    assert works(visit, client_id, old)
    assert old not in visit.browser.current_url
    visit.go("I have kept it")
    visit.go("Make a new secret")
    visit.go("Make a new secret")
    before_the_time = said(visit.browser, "The old secret still works, until %(time)s.")
    visit.sees(before_the_time.partition("%")[0].strip())
    new = visit.text_of("#secret")
    assert works(visit, client_id, old)
    assert works(visit, client_id, new)
    visit.go("I have kept it")
    assert new not in visit.browser.page_source
    visit.go("Switch off")
    assert not works(visit, client_id, new)
    visit.go("Switch on")
    assert works(visit, client_id, new)
    assert complaints(visit.browser) == []


def works(visit: Visit, client_id: str, secret: str) -> bool:
    client = hosting.Client(client_id, secret, "", "")
    return Service(visit.host.app, client).list().status_code == 200


def test_a_key_is_made_and_the_log_tells_all_of_it(
    visit: Visit, desk: console_kit.Desk, tmp_path: Path
) -> None:
    """Who did it as well; the download is the browser's."""
    visit.open()
    visit.sees("The last days")
    visit.go("Keys")
    if visit.language == "en":  # the second one would have to wait
        visit.go("New RS256 key")
        visit.sees("A new key is published. It signs in ten minutes.")
    visit.go("Audit log")
    visit.type(by=desk.person.email)
    visit.go("Search")
    assert desk.person.name in visit.text_of(".console-rows")
    assert re.search(r"by=ada", visit.browser.current_url)
    command = {"behavior": "allow", "downloadPath": str(tmp_path)}
    visit.browser.execute_cdp_cmd("Browser.setDownloadBehavior", command)
    hit(visit.browser, visit.browser.find_element(By.CSS_SELECTOR, "button[formaction]"))
    waiting(visit.browser).until(lambda _: list(tmp_path.glob("audit-*.csv")))
    (file,) = tmp_path.glob("audit-*.csv")
    assert desk.person.id in file.read_text()
    assert complaints(visit.browser) == []


def test_it_works_by_keyboard_alone_and_without_scripts(visit: Visit) -> None:
    """From the address to a search, with Tab and Enter."""
    visit.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        visit.open("/people/new")
        wait_for_focus(visit.browser, "name")
        visit.browser.switch_to.active_element.send_keys("Somebody\n")
        waiting(visit.browser).until(lambda browser: "/people/@" in browser.current_url)
        visit.sees("The account is made.")
    finally:
        visit.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "ru"])
def test_every_page_fits_a_phone_and_can_be_read(
    browser: Chrome, host: LiveHost, desk: console_kit.Desk, scheme: str, language: str
) -> None:
    """360 pixels, light and dark, in both languages."""
    client_id = register(host.app, "Wiki", "--service-tag", "wiki").client.client_id
    person = f"/people/@{desk.person.id}"
    application = f"/applications/{client_id}"
    speak(browser, language)
    come_in(browser, host, desk)
    too_wide, too_faint = [], []
    paths = (
        *("", "/people", "/people/new", person, f"{person}/edit", f"{person}/erase"),
        *(f"{person}/reset-factors", "/applications", "/applications/new", application),
        *(f"{application}/edit", f"{application}/secret", "/keys", "/audit"),
    )
    with screen(browser, 360, 740), preferring(browser, scheme):
        for path in paths:
            browser.get(host.url + "/administration" + path)
            if overhang(browser):
                too_wide.append(path)
            # A box to tick has no text.
            faint = [one for one in faint_texts(browser) if "form-check-input" not in one[0]]
            too_faint += [(path, *one) for one in faint]
    assert too_wide == []
    assert too_faint == []
