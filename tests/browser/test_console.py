"""An administrator with a real browser: every journey through the console, wide and narrow."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.wait import WebDriverWait

import console_kit
import hosting
from account_api.calling import Service, register
from browser.hand import BETWEEN_PAGES, PATIENCE, complaints, press, wait_for
from browser.test_pages import COLOURS, READABLE, contrast_of
from databases import sqlite_url
from live import LiveHost, live_host

pytestmark = pytest.mark.browser

TEXTS = {
    "en": {
        "people": "People",
        "new": "New person",
        "make": "Make the account",
        "made": "The account is made.",
        "add": "Add",
        "disable": "Disable everywhere",
        "disabled": "An administrator disabled this account",
        "not yet": "not yet",
        "has it": "has it",
        "enable": "Enable",
        "change": "Change",
        "save": "Save",
        "saved": "Saved.",
        "erase": "Erase",
        "for good": "Erase for good",
        "wrong id": "This is not the id of this person.",
        "erased": "The account is erased.",
        "applications": "Applications",
        "register": "Register an application",
        "send": "Register",
        "must be https": "must be https",
        "kept": "I have kept it",
        "rotate": "Make a new secret",
        "still works": "The old secret still works",
        "off": "Switch off",
        "on": "Switch on",
        "keys": "Keys",
        "new key": "New RS256 key",
        "key made": "It signs in ten minutes.",
        "audit": "Audit log",
        "search": "Search",
        "changed": "Account changed",
        "overview": "Overview",
        "days": "The last days",
    },
    "ru": {
        "people": "Люди",
        "new": "Новый человек",
        "make": "Создать учётную запись",
        "made": "Учётная запись создана.",
        "add": "Добавить",
        "disable": "Отключить везде",
        "disabled": "Эту учётную запись отключил администратор",
        "not yet": "ещё нет",
        "has it": "получено",
        "enable": "Включить",
        "change": "Изменить",
        "save": "Сохранить",
        "saved": "Сохранено.",
        "erase": "Стереть",
        "for good": "Стереть навсегда",
        "wrong id": "Это не идентификатор этого человека.",
        "erased": "Учётная запись стёрта.",
        "applications": "Приложения",
        "register": "Зарегистрировать приложение",
        "send": "Зарегистрировать",
        "must be https": "нужен https",
        "kept": "Секрет сохранён",
        "rotate": "Создать новый секрет",
        "still works": "Прежний секрет ещё действует",
        "off": "Выключить",
        "on": "Включить",
        "keys": "Ключи",
        "new key": "Новый ключ RS256",
        "key made": "Он начнёт подписывать через десять минут.",
        "audit": "Журнал",
        "search": "Найти",
        "changed": "Учётная запись изменена",
        "overview": "Обзор",
        "days": "Последние дни",
    },
}


class Visit:
    """An administrator at a browser, reading one language."""

    def __init__(self, browser: Chrome, host: LiveHost, language: str) -> None:
        self.browser, self.host, self.texts = browser, host, TEXTS[language]

    def open(self, path: str = "") -> None:
        self.browser.get(self.host.url + "/administration" + path)

    def go(self, name: str) -> None:
        """Press a button or follow a link, and wait for another page."""
        before = self.browser.find_element(By.TAG_NAME, "html")
        press(self.browser, self.texts[name])
        waiting = WebDriverWait(self.browser, PATIENCE, ignored_exceptions=BETWEEN_PAGES)
        waiting.until(staleness_of(before))
        waiting.until(lambda browser: browser.find_element(By.TAG_NAME, "h1").is_displayed())

    def type(self, **fields: str) -> None:
        for name, value in fields.items():
            selector = f"input[name={name}]:not([type=hidden]), textarea[name={name}]"
            field = self.browser.find_element(By.CSS_SELECTOR, selector)
            field.clear()
            field.send_keys(value)

    def click(self, selector: str) -> None:
        """At once: Bootstrap's smooth scrolling would move the thing away from under the click."""
        found = self.browser.find_element(By.CSS_SELECTOR, selector)
        self.browser.execute_script(
            "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", found
        )
        found.click()

    def sees(self, name: str) -> None:
        wait_for(self.browser, self.texts[name])

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


@pytest.fixture(params=[("en", 1280), ("ru", 360)], ids=["english-wide", "russian-phone"])
def visit(
    request: pytest.FixtureRequest, browser: Chrome, host: LiveHost, desk: console_kit.Desk
) -> Iterator[Visit]:
    language, width = request.param
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    come_in(browser, host, desk, language)
    yield Visit(browser, host, language)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def come_in(browser: Chrome, host: LiveHost, desk: console_kit.Desk, language: str) -> None:
    browser.get(host.url + "/sign-in")
    session = desk.browser.get_cookie("identity_session")
    assert session is not None
    browser.add_cookie({"name": "identity_session", "value": session.value})
    browser.add_cookie({"name": "identity_language", "value": language})


def test_a_person_is_made_found_changed_disabled_and_erased(visit: Visit) -> None:
    """The services hear of it meanwhile, and the page tells when."""
    service = register(visit.host.app, "Wiki", "--service-tag", "wiki")
    cursor = service.whole()["cursor"]
    visit.open()
    visit.go("people")
    visit.go("new")
    visit.type(name="Grace Hopper", email="grace@example.org", tags="wiki")
    visit.go("make")
    visit.sees("made")
    visit.type(tag="math")
    visit.go("add")
    assert "math" in visit.text_of("main")
    visit.go("people")
    visit.type(q="grace")
    visit.go("search")
    press(visit.browser, "Grace Hopper")
    wait_for(visit.browser, "grace@example.org")
    visit.go("change")
    visit.type(name="Grace B. Hopper")
    visit.go("save")
    visit.sees("saved")
    assert visit.text_of("h1") == "Grace B. Hopper"
    visit.go("disable")
    visit.sees("disabled")
    visit.sees("not yet")
    service.changes(service.changes(cursor)["cursor"])
    visit.browser.refresh()
    visit.sees("has it")
    visit.go("enable")
    visit.go("erase")
    visit.type(typed="something else")
    visit.go("for good")
    visit.sees("wrong id")
    visit.type(typed=visit.text_of("#hint code"))
    visit.go("for good")
    visit.sees("erased")
    assert complaints(visit.browser) == []


def test_an_application_is_registered_refused_and_given_a_new_secret(visit: Visit) -> None:
    """What is unsafe is refused at its field; each secret is shown once and works."""
    visit.open()
    visit.go("applications")
    visit.go("register")
    visit.type(name="A new one", redirect_uri="http://app.example/")
    visit.click("[name=accounts]")
    visit.go("send")
    field = visit.browser.find_element(By.NAME, "redirect_uri")
    beside = field.find_element(By.XPATH, "..").text
    assert visit.texts["must be https"] in beside
    visit.type(redirect_uri="https://app.example/callback")
    visit.go("send")
    old = visit.text_of("#secret")
    client_id = visit.text_of("main code")
    assert works(visit, client_id, old)
    assert old not in visit.browser.current_url
    visit.go("kept")
    visit.go("rotate")
    visit.go("rotate")
    visit.sees("still works")
    new = visit.text_of("#secret")
    assert works(visit, client_id, old)
    assert works(visit, client_id, new)
    visit.go("kept")
    assert new not in visit.browser.page_source
    visit.go("off")
    assert not works(visit, client_id, new)
    visit.go("on")
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
    visit.sees("days")
    visit.go("keys")
    if visit.texts["days"] == TEXTS["en"]["days"]:  # the second one would have to wait
        visit.go("new key")
        visit.sees("key made")
    visit.go("audit")
    visit.type(by=desk.person.email)
    visit.go("search")
    assert desk.person.name in visit.text_of(".console-rows")
    assert re.search(r"by=ada", visit.browser.current_url)
    command = {"behavior": "allow", "downloadPath": str(tmp_path)}
    visit.browser.execute_cdp_cmd("Browser.setDownloadBehavior", command)
    visit.click("button[formaction]")
    WebDriverWait(visit.browser, PATIENCE).until(lambda _: list(tmp_path.glob("audit-*.csv")))
    (file,) = tmp_path.glob("audit-*.csv")
    assert desk.person.id in file.read_text()
    assert complaints(visit.browser) == []


def test_it_works_by_keyboard_alone_and_without_scripts(visit: Visit) -> None:
    """From the address to a search, with Tab and Enter."""
    visit.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        visit.open("/people/new")
        waiting = WebDriverWait(visit.browser, PATIENCE, ignored_exceptions=BETWEEN_PAGES)
        waiting.until(
            lambda browser: browser.switch_to.active_element.get_attribute("name") == "name"
        )
        visit.browser.switch_to.active_element.send_keys("Somebody\n")
        waiting.until(lambda browser: "/people/@" in browser.current_url)
        visit.sees("made")
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
    preference = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [preference]})
    size = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    come_in(browser, host, desk, language)
    too_wide, too_faint = [], []
    for path in (
        *("", "/people", "/people/new", person, f"{person}/edit", f"{person}/erase"),
        *(f"{person}/reset-factors", "/applications", "/applications/new", application),
        *(f"{application}/edit", f"{application}/secret", "/keys", "/audit"),
    ):
        browser.get(host.url + "/administration" + path)
        overhang = "const all = document.documentElement; return all.scrollWidth - all.clientWidth"
        if browser.execute_script(overhang):
            too_wide.append(path)
        for element, colour, behind in browser.execute_script(COLOURS):
            box = "form-check-input" in element  # has no text
            if not box and contrast_of(colour, behind) < READABLE:
                too_faint.append((path, element, colour, behind))
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert too_wide == []
    assert too_faint == []
