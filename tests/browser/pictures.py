"""The pictures of the documentation, taken anew: `python3 -m nox -s pictures`.

Wide in light and narrow in dark, of the pages as they are, in docs/images.
"""

from __future__ import annotations

import json
import shutil
import time
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import requests
from PIL import Image
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

import hosting
from browser.conftest import OPTIONS
from browser.hand import click, enter, press, speak, wait_for, write
from browser.place import Place, running_place
from host_app.models import db

FOLDER = Path(__file__).parents[2] / "docs/images"
LOOKS = {"light": (880, 620), "narrow-dark": (390, 780)}
"""Width and least height, in pixels of the page."""

TALLEST = 860
"""Of a picture, in pixels of the page; what is longer goes on below it."""

SHARPNESS = 2
"""Pixels of a picture to one of the page."""

COLOURS = 48
"""Enough for plain pages; the files are a third of what they would be."""

LARGEST = 60_000
"""Bytes of a picture."""

DAY = 86_400
WEEK = [(31, 2, 24), (28, 1, 22), (35, 4, 30), (12, 0, 9), (9, 1, 7), (33, 2, 27)]
"""Sign-ins, failed ones, and people sent on to an application, yesterday and before."""


def take(browser: Chrome, name: str) -> None:
    """A picture of the page at hand in each look."""
    for look, (width, height) in LOOKS.items():
        scheme = "dark" if look.endswith("dark") else "light"
        preference = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [preference]})
        tall = browser.execute_script("return document.documentElement.scrollHeight")
        height = min(max(height, tall), TALLEST)
        size = {"width": width, "height": height, "deviceScaleFactor": SHARPNESS, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        # Colours change little by little with the scheme.
        browser.execute_script("document.getAnimations().forEach(one => one.finish())")
        file = FOLDER / f"{name}-{look}.png"
        picture = Image.open(BytesIO(browser.get_screenshot_as_png())).convert("RGB")
        picture.quantize(COLOURS, dither=Image.Dither.NONE).save(file, optimize=True)
        if file.stat().st_size > LARGEST:
            raise SystemExit(f"{file} has {file.stat().st_size} bytes")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def people_and_services(place: Place) -> tuple[hosting.Client, str]:
    """Who is there, what happened in a week, and two services: one up to date, one behind."""
    app = place.host.app
    rights = ("--administrator", "--tag", "bookshelf")
    hosting.run(app, "idsync", "account", "edit", place.person.id, *rights)
    shelf, wiki = (
        hosting.register_application(app, name, "--accounts", "--service-tag", name.lower())
        for name in ("Bookshelf", "Wiki")
    )
    pull(place, wiki, "wiki")
    teacher = hosting.add_person(
        app, "Grace Hopper", "grace@example.org", "correct horse",
        *("--tag", "наставник", "--tag", "bookshelf", "--phone", "+4930123456"),
    )  # fmt: skip
    for name, email in (
        ("Omar Khayyam", "omar@example.org"),
        ("Анна Ахматова", "anna@example.org"),
    ):
        hosting.add_person(app, name, email, "correct horse", "--tag", "wiki")
    pull(place, shelf, "bookshelf")
    with app.app_context():
        table = db.metadata.tables["idsync_event"]
        kinds = ("signed in", "sign-in failed", "grant issued")
        rows = [
            {"at": int(time.time()) - DAY * days, "kind": kind, "actor_kind": "person"}
            for days, counts in enumerate(WEEK, start=1)
            for kind, count in zip(kinds, counts, strict=True)
            for _ in range(count)
        ]
        db.session.execute(table.insert(), [{**row, "details": {}} for row in rows])
        db.session.commit()
    return shelf, teacher.id


def pull(place: Place, service: hosting.Client, tag: str) -> None:
    """Ask for the accounts as a service does, and show with the next request what arrived."""
    address, auth = place.host.url + "/api/service/accounts", service.basic
    whole: Any = requests.get(address, params={"tag": tag}, auth=auth, timeout=10).json()
    query = {"tag": tag, "since": whole["cursor"]}
    requests.get(address, params=query, auth=auth, timeout=10).raise_for_status()


def visit(browser: Chrome, place: Place) -> None:
    """Go from the sign-in page to the console, and take pictures on the way."""
    shelf, teacher = people_and_services(place)
    place.open(browser, "/sign-in")
    take(browser, "sign-in")
    browser.get(place.host.url + hosting.authorize_path(shelf))
    write(browser, "email", place.person.email)
    enter(browser, "password", "wrong", "Sign in")
    write(browser, "email", place.person.email)
    enter(browser, "password", place.person.password, "Sign in")
    wait_for(browser, "%(application)s would like to:", application="Bookshelf")
    take(browser, "consent")
    browser.find_element(By.CSS_SELECTOR, "button[value=allow]").click()
    place.open(browser, "/security")
    click(browser, "Set up an authenticator app")
    secret = browser.find_element(By.CSS_SELECTOR, ".host-key").text.replace(" ", "")
    enter(browser, "code", hosting.App(secret, []).code(), "Continue")
    press(browser, "I have kept them")
    pull(place, shelf, "bookshelf")
    for path, name in (
        ("/", "own-page"),
        ("/security", "security"),
        ("/activity", "activity"),
        ("/administration", "console"),
        (f"/administration/people/@{teacher}", "person"),
    ):
        place.open(browser, path)
        take(browser, name)


def main() -> None:
    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for option in (*OPTIONS.split(), "--hide-scrollbars"):
        options.add_argument(option)
    browser = Chrome(options=options, service=Service(shutil.which("chromedriver") or ""))
    try:
        with TemporaryDirectory() as folder, running_place(Path(folder)) as place:
            speak(browser, "en")
            visit(browser, place)
    finally:
        browser.quit()
    print(json.dumps({file.name: file.stat().st_size for file in sorted(FOLDER.glob("*.png"))}))


if __name__ == "__main__":
    main()
