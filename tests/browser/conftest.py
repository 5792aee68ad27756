"""A real Chromium, and the demo for it to visit, with and without TLS."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from browser.hand import screen, speak
from browser.place import Place, running_place
from databases import sqlite_url
from demo_services import Services, make_certificate, run_services
from live import LiveHost, live_host

OPTIONS = """
    --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run
    --disable-background-networking --disable-component-update --disable-sync --lang=en
    --ignore-certificate-errors --window-size=1280,900
"""


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """Chromium without a window. Tests take `browser`, which begins without cookies."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        reason = "these tests need chromium and chromedriver (Debian: chromium, chromium-driver)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for option in OPTIONS.split():
        options.add_argument(option)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('chromium')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    yield browser
    browser.quit()


@pytest.fixture
def browser(chromium: webdriver.Chrome) -> webdriver.Chrome:
    """A browser that has never been anywhere."""
    chromium.execute_cdp_cmd("Network.clearBrowserCookies", {})
    speak(chromium, "en")
    chromium.get_log("browser")  # forget what earlier tests left there
    return chromium


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A service with phones and mail."""
    with running_place(tmp_path) as place:
        yield place


@pytest.fixture
def service(tmp_path: Path) -> Iterator[LiveHost]:
    """A service alone, for applications."""
    with live_host(sqlite_url(tmp_path), tmp_path) as host:
        yield host


@pytest.fixture(params=[(1280, "en"), (360, "ru")], ids=["wide English", "narrow Russian"])
def look(request: pytest.FixtureRequest, browser: webdriver.Chrome) -> Iterator[str]:
    """How wide the screen is, and the language of its owner, who reads it."""
    width, language = request.param
    speak(browser, language)
    with screen(browser, width, 800):
        yield str(language)
    speak(browser, "en")


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """The demo over http."""
    with run_services(tmp_path_factory.mktemp("demo"), "http") as running:
        yield running


@pytest.fixture(scope="session")
def secure_services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """The demo over https, with a certificate of its own making."""
    folder = tmp_path_factory.mktemp("secure-demo")
    certificate, key = make_certificate(folder)
    with pytest.MonkeyPatch.context() as patch:
        # For our own first request, and for those of the application to the service.
        patch.setenv("SSL_CERT_FILE", str(certificate))
        patch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
        options = (f"--certfile={certificate}", f"--keyfile={key}")
        with run_services(folder, "https", *options) as running:
            yield running
