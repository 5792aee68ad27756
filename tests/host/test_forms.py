"""Every form of the host: refused when forged, from another site, or where the sign-in is old."""

import time

import pytest
from flask import Flask, url_for
from flask.testing import FlaskClient

import hosting
from host_app.models import identity

WITHOUT_TOKEN = {"language.choose"}
"""A forged choice of a language does no harm."""

SENSITIVE = [
    "/profile/email",
    "/security/password",
    "/security/phone",
    "/security/phone/code",
    "/security/app/remove",
    "/security/recovery-codes",
    "/security/passkeys/new",
]
"""Pages that ask who it is again, ten minutes after the sign-in."""

SENSITIVE_BUTTONS = ["/security/app", "/security/phone/remove"]


def addresses_of_forms(app: Flask) -> list[str]:
    """Every address of the host's own that takes a POST, with something in place of its values."""
    rules = [
        rule
        for rule in app.url_map.iter_rules()
        if "POST" in (rule.methods or ())
        and not rule.endpoint.startswith("idsync")
        and rule.endpoint not in WITHOUT_TOKEN
    ]
    with app.test_request_context():
        return [url_for(rule.endpoint, **dict.fromkeys(rule.arguments, "x")) for rule in rules]


def test_a_form_without_its_token_is_refused(
    app: Flask, client: FlaskClient, person: hosting.Person
) -> None:
    """Whoever it is for: nothing changes."""
    addresses = addresses_of_forms(app)
    assert len(addresses) > 25
    allowed = {
        address: answer.status_code
        for address in addresses
        if (answer := client.post(address, data={"name": "Eve"})).status_code != 400
    }
    assert allowed == {}
    assert "Ada Lovelace" in client.get("/").text


def test_a_form_of_another_site_is_refused(database_url: str) -> None:
    """With the right token even: over https its origin must be ours."""
    url = "https://id.example.org"
    app = hosting.make_host(
        database_url,
        IDSYNC_ISSUER=url,
        IDSYNC_MAIL_SENDER="smtp://h.example",
        IDSYNC_MAIL_FROM="id@example.org",
    )
    try:
        browser, person = app.test_client(), hosting.add_person(app)
        page = browser.get("/sign-in", base_url=url).text
        form = {**hosting.hidden_fields(page), "email": person.email, "password": person.password}
        for referrer in ("https://evil.example/sign-in", f"{url}.evil.example/", "null", ""):
            headers = {"Referer": referrer} if referrer else {}
            answer = browser.post("/sign-in", data=form, base_url=url, headers=headers)
            assert answer.status_code == 400, referrer
        own = {"Referer": f"{url}/sign-in"}
        answer = browser.post("/sign-in", data=form, base_url=url, headers=own)
        assert answer.status_code == 303
    finally:
        hosting.close_host(app)


@pytest.mark.parametrize("path", SENSITIVE)
def test_a_page_that_matters_asks_again_after_ten_minutes(
    client: FlaskClient, person: hosting.Person, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosting.set_up_app(client)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 590)
    assert "/sign-in" not in client.get(path).headers.get("Location", "")
    monkeypatch.setattr(time, "time", lambda: now + 605)
    answer = client.get(path)
    assert answer.headers["Location"].startswith(f"/sign-in?next={path}")


@pytest.mark.parametrize("path", SENSITIVE_BUTTONS)
def test_a_button_that_matters_asks_again_after_ten_minutes(
    client: FlaskClient, person: hosting.Person, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page it stands on may have been open for long."""
    page = client.get("/security").text
    later = time.time() + 605
    monkeypatch.setattr(time, "time", lambda: later)
    answer = client.post(path, data=hosting.hidden_fields(page))
    assert answer.headers["Location"].startswith("/sign-in?next=")


def test_a_session_that_ended_meanwhile_changes_nothing(
    app: Flask, client: FlaskClient, person: hosting.Person
) -> None:
    """The forms of its pages are still there, and lead to the sign-in page."""
    page = client.get("/profile").text
    hosting.run(app, "idsync", "account", "sign-out", person.id)
    form = {**hosting.hidden_fields(page), "name": "Eve"}
    answer = client.post("/profile", data=form)
    assert answer.headers["Location"].startswith("/sign-in")
    with app.app_context():
        account = identity.directory.find(person.id)
        assert account is not None
        assert account.name == person.name
