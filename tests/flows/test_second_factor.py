"""An account with a second factor: no way round it, whatever else is known.

The ways that are tried: the sign-in page, a code sent to the phone, the site's own `login_user`,
its remember cookie, a session from before the factor was set up, a consent form opened before, an
authorization request in every manner, and the second step with what is not, or no longer, right.
"""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from flask_login import current_user, login_user
from itsdangerous.encoding import base64_decode
from sqlalchemy import text
from werkzeug.test import TestResponse

import hosting
from host_app.models import User, db, identity
from hosting import is_signed_in

PHONE = "+493012345678"


@dataclass
class Ada:
    """A person with every first factor and a second one; `own` is her browser."""

    person: hosting.Person
    app: hosting.App
    own: FlaskClient


@pytest.fixture
def ada(app: Flask, client: FlaskClient) -> Ada:
    person = hosting.add_person(app, "Ada", "ada@example.org", "correct horse", "--phone", PHONE)
    hosting.sign_in(client, person)
    return Ada(person, hosting.set_up_app(client), client)


@pytest.fixture
def application(app: Flask) -> hosting.Client:
    return hosting.register_application(app, "Ours", "--first-party")


@pytest.fixture
def other(app: Flask) -> FlaskClient:
    """Somebody else's browser."""
    return app.test_client()


def asks_for_second_step(answer: TestResponse) -> bool:
    return urlsplit(answer.headers.get("Location", "")).path == "/sign-in/second-factor"


def assert_nothing_is_open(browser: FlaskClient, application: hosting.Client) -> None:
    """Neither a session nor a code."""
    assert not is_signed_in(browser)
    assert "Location" in browser.get("/security").headers
    silent = browser.get(hosting.authorize_path(application, prompt="none"))
    assert parse_qs(urlsplit(silent.headers["Location"]).query)["error"] == ["login_required"]
    answer = hosting.follow(browser, browser.get(hosting.authorize_path(application)))
    assert answer.status_code == 200
    assert "code=" not in answer.headers.get("Location", "")


def execute(app: Flask, statement: str, **values: Any) -> None:
    with app.app_context():
        db.session.execute(text(statement), values)
        db.session.commit()


def first_step_by_phone(browser: FlaskClient, capsys: pytest.CaptureFixture[str]) -> TestResponse:
    """With the code from the console, where a service that is set up for no phone writes it."""
    hosting.submit(browser, "/sign-in/phone", {"phone": PHONE})
    hosting.send_messages(browser.application)
    (code,) = re.findall(r"^Text to \+\d+: (\d{6}) ", capsys.readouterr().err, re.MULTILINE)
    return hosting.submit(browser, "/sign-in/phone/code", {"code": code})


# --- the right way ------------------------------------------------------------------------------


def test_both_steps_sign_in_and_the_application_hears_how(
    app: Flask, ada: Ada, application: hosting.Client, other: FlaskClient
) -> None:
    """`amr` names both factors; the way leads on to where the person was going."""
    answer = hosting.follow(other, other.get(hosting.authorize_path(application)))
    answer = hosting.sign_in(other, ada.person, address=answer.request.full_path)
    assert asks_for_second_step(answer)
    assert not is_signed_in(other)
    answer = hosting.submit(other, answer.headers["Location"], {"code": ada.app.code()})
    answer = hosting.follow(other, answer)
    code = parse_qs(urlsplit(answer.headers["Location"]).query)["code"][0]
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": application.redirect_uri,
    }
    tokens = other.post("/oauth/token", data=fields, auth=application.basic).json
    assert tokens is not None
    claims = json.loads(base64_decode(tokens["id_token"].split(".")[1]))
    assert claims["amr"] == ["pwd", "otp", "mfa"]
    assert is_signed_in(other)


def test_phone_and_app_sign_in(
    app: Flask, ada: Ada, other: FlaskClient, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = first_step_by_phone(other, capsys)
    assert asks_for_second_step(answer)
    hosting.submit(other, answer.headers["Location"], {"code": ada.app.code()})
    assert is_signed_in(other)


def test_a_recovery_code_is_a_second_step_once(ada: Ada, app: Flask, other: FlaskClient) -> None:
    """However it is typed."""
    code = ada.app.recovery_codes[3].upper().replace("-", " ").replace("0", "O").replace("1", "L")
    hosting.sign_in(other, ada.person)
    assert hosting.submit(other, "/sign-in/second-factor", {"code": code}).status_code == 303
    assert is_signed_in(other)
    again = app.test_client()
    hosting.sign_in(again, ada.person)
    assert hosting.submit(again, "/sign-in/second-factor", {"code": code}).status_code == 422
    assert not is_signed_in(again)
    assert "Unused recovery codes: 9" in other.get("/security").text


# --- the ways round -----------------------------------------------------------------------------


def by_password(app: Flask, ada: Ada, browser: FlaskClient, _: Any) -> None:
    hosting.sign_in(browser, ada.person)


def by_phone(
    app: Flask, ada: Ada, browser: FlaskClient, capsys: pytest.CaptureFixture[str]
) -> None:
    first_step_by_phone(browser, capsys)


def visit(app: Flask, browser: FlaskClient, path: str, view: Callable[[], str]) -> None:
    """Give the site a view of its own, and call it."""
    app._got_first_request = False  # as if the site had always had it
    app.add_url_rule(path, path, view)
    assert browser.get(path).status_code == 200


def by_login_user(app: Flask, ada: Ada, browser: FlaskClient, _: Any) -> None:
    """As the sign-in of a site that knows nothing of second factors does."""

    def own_sign_in() -> str:
        user = identity.find_user(ada.person.email)
        assert identity.check_password(user, ada.person.password)
        assert isinstance(user, User)
        login_user(user)
        return "signed in, or so the site believes"

    visit(app, browser, "/own-sign-in", own_sign_in)


def keep_remember_cookie_only(app: Flask, person: hosting.Person, browser: FlaskClient) -> None:
    """The session cookie of a site's own sign-in is dropped, the remember cookie stays."""

    def own_sign_in() -> str:
        user = identity.find_user(person.email)
        assert isinstance(user, User)
        login_user(user, remember=True)
        return ""

    visit(app, browser, "/own-remembering-sign-in", own_sign_in)
    browser.delete_cookie(app.config["SESSION_COOKIE_NAME"])


def by_remember_cookie(app: Flask, ada: Ada, browser: FlaskClient, _: Any) -> None:
    keep_remember_cookie_only(app, ada.person, browser)


def by_remember_cookie_of_both_steps(app: Flask, ada: Ada, browser: FlaskClient, _: Any) -> None:
    """It says that somebody signed in once, not that they just did so by two factors."""

    def own_sign_in() -> str:
        user = identity.find_user(ada.person.email)
        assert identity.sign_in(user, amr=("pwd", "otp", "mfa"), remember=True)
        return ""

    visit(app, browser, "/own-whole-sign-in", own_sign_in)
    assert browser.get_cookie(app.config["REMEMBER_COOKIE_NAME"]) is not None
    browser.delete_cookie(app.config["SESSION_COOKIE_NAME"])


def by_sign_in_with_less(app: Flask, ada: Ada, browser: FlaskClient, _: Any) -> None:
    def own_sign_in() -> str:
        assert not identity.sign_in(identity.find_user(ada.person.email), remember=True)
        return ""

    visit(app, browser, "/own-short-sign-in", own_sign_in)


@pytest.mark.parametrize(
    "way",
    [
        by_password,
        by_phone,
        by_login_user,
        by_remember_cookie,
        by_remember_cookie_of_both_steps,
        by_sign_in_with_less,
    ],
)
def test_one_factor_alone_opens_nothing(
    way: Callable[..., None],
    app: Flask,
    ada: Ada,
    application: hosting.Client,
    other: FlaskClient,
    capsys: pytest.CaptureFixture[str],
) -> None:
    way(app, ada, other, capsys)
    assert_nothing_is_open(other, application)


def test_a_site_with_its_own_sign_in_is_led_to_the_second_step(
    app: Flask, ada: Ada, application: hosting.Client, other: FlaskClient
) -> None:
    """Authorize finds the first step made, and does not send the person round in circles."""
    pending = other.get(hosting.authorize_path(application)).headers["Location"]
    by_login_user(app, ada, other, None)
    answer = other.get(pending)
    assert asks_for_second_step(answer)
    answer = hosting.submit(other, answer.headers["Location"], {"code": ada.app.code()})
    assert "code=" in hosting.follow(other, answer).headers["Location"]


def test_a_first_step_from_before_the_request_does_not_count(
    app: Flask, ada: Ada, application: hosting.Client, other: FlaskClient
) -> None:
    """prompt=login asks for both steps anew."""
    hosting.sign_in(other, ada.person)
    with pytest.MonkeyPatch.context() as patch:
        later = time.time() + 2
        patch.setattr(time, "time", lambda: later)
        answer = hosting.follow(
            other, other.get(hosting.authorize_path(application, prompt="login"))
        )
    assert 'name="password"' in answer.text


def test_a_session_from_before_the_factor_is_over(
    app: Flask, application: hosting.Client, client: FlaskClient, other: FlaskClient
) -> None:
    """And so is a consent form that it was shown."""
    person = hosting.add_person(app)
    asking = hosting.register_application(app, "Others'")
    hosting.sign_in(other, person)
    form = hosting.follow(other, other.get(hosting.authorize_path(asking)))
    assert 'name="decision"' in form.text
    hosting.sign_in(client, person)
    hosting.set_up_app(client)
    assert_nothing_is_open(other, application)
    answer = other.post(
        "/oauth/consent",
        data={**hosting.hidden_fields(form.text), "decision": "allow"},
        headers={"Referer": form.request.url},
    )
    answer = hosting.follow(other, answer)
    assert "code=" not in answer.headers.get("Location", "")
    # Whoever set the factor up proved it just now.
    assert is_signed_in(client)


def test_a_request_in_which_the_factor_is_turned_on_is_nobodys_from_then_on(
    app: Flask, client: FlaskClient
) -> None:
    """Flask-Login has its user already; the session was made without the factor."""
    hosting.sign_in(client, hosting.add_person(app))
    with client:
        client.get("/")
        assert identity.signed_in() is not None
        db.session.rollback()
        execute(app, "UPDATE idsync_account SET mfa = true")
        assert current_user.is_authenticated
        assert identity.signed_in() is None


def test_a_remember_cookie_from_before_the_factor_is_over(
    app: Flask, client: FlaskClient, other: FlaskClient
) -> None:
    """Without a session it never proved more than the password."""
    person = hosting.add_person(app)
    keep_remember_cookie_only(app, person, other)
    assert is_signed_in(other)
    hosting.sign_in(client, person)
    hosting.set_up_app(client)
    other.delete_cookie(app.config["SESSION_COOKIE_NAME"])
    assert not is_signed_in(other)


def test_where_a_site_has_no_page_for_it_authorize_refuses(database_url: str) -> None:
    """Rather than let anybody in, or send them round in circles."""
    app = hosting.make_host(database_url)
    try:
        person = hosting.add_person(app)
        application = hosting.register_application(app, "Ours", "--first-party")
        browser, other = app.test_client(), app.test_client()
        hosting.sign_in(browser, person)
        made = hosting.set_up_app(browser)
        without = hosting.create_app({**app.config, "IDSYNC_SECOND_FACTOR_ENDPOINT": ""})
        other = without.test_client()
        pending = other.get(hosting.authorize_path(application)).headers["Location"]
        by_login_user(without, Ada(person, made, browser), other, None)
        location = other.get(pending).headers["Location"]
        answer = parse_qs(urlsplit(location).query)
        assert (answer["error"], "code" in answer) == (["access_denied"], False)
        hosting.close_host(without)
    finally:
        hosting.close_host(app)


# --- the second step itself ---------------------------------------------------------------------


def second_step(browser: FlaskClient, code: str) -> int:
    return hosting.submit(browser, "/sign-in/second-factor", {"code": code}).status_code


@pytest.mark.parametrize(
    "code", ["000000", "12345", "1234567", "", "١٢٣٤٥٦", "\ufffd", "0" * 40, "zzzzz-zzzzz"]
)
def test_a_wrong_code_is_refused(ada: Ada, other: FlaskClient, code: str) -> None:
    hosting.sign_in(other, ada.person)
    assert second_step(other, code) == 422
    assert not is_signed_in(other)


@pytest.mark.parametrize(("seconds", "right"), [(-60, False), (-30, True), (30, True), (60, False)])
def test_a_phone_may_be_one_step_wrong(
    ada: Ada, other: FlaskClient, seconds: int, right: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = (time.time() // 30) * 30 + 300 + 15
    monkeypatch.setattr(time, "time", lambda: later)
    hosting.sign_in(other, ada.person)
    assert second_step(other, ada.app.code(later + seconds)) == (303 if right else 422)


def test_a_code_works_once(app: Flask, ada: Ada, other: FlaskClient) -> None:
    """Nor does an older one after it."""
    code, older = ada.app.code(), ada.app.code(time.time() - 30)
    hosting.sign_in(other, ada.person)
    assert second_step(other, code) == 303
    again = app.test_client()
    hosting.sign_in(again, ada.person)
    assert [second_step(again, one) for one in (code, older)] == [422, 422]


def test_guessing_codes_is_slow(app: Flask, ada: Ada, other: FlaskClient) -> None:
    """Five at once, for all browsers together; the right one must wait as well."""
    hosting.sign_in(other, ada.person)
    assert [second_step(other, "000000") for _ in range(6)] == [422] * 5 + [429]
    again = app.test_client()
    hosting.sign_in(again, ada.person)
    assert second_step(again, ada.app.code()) == 429


def test_the_second_step_needs_the_first(ada: Ada, other: FlaskClient) -> None:
    """A code alone opens nothing."""
    assert other.get("/sign-in/second-factor").headers["Location"] == "/sign-in"
    page = other.get("/sign-in")
    answer = other.post(
        "/sign-in/second-factor",
        data={**hosting.hidden_fields(page.text), "code": ada.app.code()},
    )
    assert answer.headers["Location"] == "/sign-in"
    assert not is_signed_in(other)


def test_ones_own_code_does_not_finish_anothers_first_step(
    app: Flask, ada: Ada, other: FlaskClient
) -> None:
    grace = hosting.add_person(app, "Grace", "grace@example.org", "compiler")
    hosting.sign_in(other, grace)
    own = hosting.set_up_app(other)
    thief = app.test_client()
    hosting.sign_in(thief, ada.person)
    assert second_step(thief, own.code()) == 422
    assert second_step(thief, own.recovery_codes[0]) == 422
    assert not is_signed_in(thief)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE idsync_account SET epoch = :epoch",
        "UPDATE idsync_account SET disabled_by = 'service'",
    ],
)
def test_a_first_step_ends_with_the_password_and_the_account(
    app: Flask, ada: Ada, other: FlaskClient, change: str
) -> None:
    """The epoch is that of the password which was right."""
    hosting.sign_in(other, ada.person)
    execute(app, change, **({"epoch": b"x" * 8} if ":epoch" in change else {}))
    assert second_step(other, ada.app.code()) == 422
    assert not is_signed_in(other)


def test_a_first_step_waits_ten_minutes(
    ada: Ada, other: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosting.sign_in(other, ada.person)
    later = time.time() + 601
    monkeypatch.setattr(time, "time", lambda: later)
    assert other.get("/sign-in/second-factor").headers["Location"] == "/sign-in"


def test_a_half_made_sign_in_replaces_whoever_was_signed_in(
    app: Flask, ada: Ada, other: FlaskClient
) -> None:
    """The browser is nobody's between the steps, and the first step is forgotten at sign-out."""
    grace = hosting.add_person(app, "Grace", "grace@example.org", "compiler")
    hosting.sign_in(other, grace)
    hosting.sign_in(other, ada.person, address="/sign-in?next=/")
    assert not is_signed_in(other)
    hosting.sign_in(other, grace)
    assert is_signed_in(other)
    assert other.get("/sign-in/second-factor").headers["Location"] == "/sign-in"


def wrong_password(browser: FlaskClient, person: hosting.Person) -> TestResponse:
    return hosting.sign_in(browser, person, password="wrong")


def wrong_phone_code(browser: FlaskClient, _: hosting.Person) -> TestResponse:
    hosting.submit(browser, "/sign-in/phone", {"phone": PHONE})
    return hosting.submit(browser, "/sign-in/phone/code", {"code": "wrong"})


@pytest.mark.parametrize("fail", [wrong_password, wrong_phone_code])
def test_a_failed_try_does_not_go_on_with_an_earlier_first_step(
    app: Flask,
    ada: Ada,
    other: FlaskClient,
    fail: Callable[[FlaskClient, hosting.Person], TestResponse],
) -> None:
    """It may be somebody else's; a site that asks for it after a wrong password gets no answer."""
    grace = hosting.add_person(app, "Grace", "grace@example.org", "compiler")
    hosting.sign_in(other, ada.person)
    assert fail(other, grace).status_code == 422
    with other:
        other.get("/sign-in")
        assert not identity.factors.awaited()


def test_an_administrator_resets_the_factors_of_somebody_who_lost_them(
    app: Flask, ada: Ada, other: FlaskClient
) -> None:
    """Everything the account holds ends, and the password alone signs in again."""
    hosting.run(app, "idsync", "account", "reset-factors", ada.person.id)
    assert not is_signed_in(ada.own)
    shown = hosting.run(app, "idsync", "account", "show", ada.person.id, "--json")
    assert shown["mfa"] is False
    hosting.sign_in(other, ada.person)
    assert is_signed_in(other)
    assert "Set up an authenticator app" in other.get("/security").text
