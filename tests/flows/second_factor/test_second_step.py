"""The second step itself: what finishes it, what is not, or no longer, right, and when it ends."""

import json
import time
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from itsdangerous.encoding import base64_decode
from werkzeug.test import TestResponse

import hosting
from flows.rows import execute
from flows.second_factor.conftest import Ada
from flows.second_factor.steps import PHONE, asks_for_second_step, first_step_by_phone
from host_app.models import identity
from hosting import is_signed_in


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
