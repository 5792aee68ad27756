"""An account with a second factor: no way round it, whatever else is known.

The ways that are tried: the sign-in page, a code sent to the phone, the site's own `login_user`,
its remember cookie, a session from before the factor was set up, a consent form opened before, and
an authorization request in every manner. `test_second_step` tries that step itself, with what is
not, or no longer, right.
"""

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from flask_login import current_user, login_user

import hosting
from flows.rows import execute
from flows.second_factor.conftest import Ada
from flows.second_factor.steps import asks_for_second_step, first_step_by_phone
from host_app.models import User, db, identity
from hosting import is_signed_in


def assert_nothing_is_open(browser: FlaskClient, application: hosting.Client) -> None:
    """Neither a session nor a code."""
    assert not is_signed_in(browser)
    assert "Location" in browser.get("/security").headers
    silent = browser.get(hosting.authorize_path(application, prompt="none"))
    assert parse_qs(urlsplit(silent.headers["Location"]).query)["error"] == ["login_required"]
    answer = hosting.follow(browser, browser.get(hosting.authorize_path(application)))
    assert answer.status_code == 200
    assert "code=" not in answer.headers.get("Location", "")


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
