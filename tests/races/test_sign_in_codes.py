"""A code for signing in works once, and a limit holds, with processes on one database."""

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text

import hosting
from host_app.models import db
from idsync.extension import EXTENSION
from races import sign_in_deeds
from races.crew import Crew

PHONE = "+493012345678"
WRONG, RIGHT = 422, 303

Crews = Callable[[int], Crew]


@pytest.fixture
def settings(database_url: str) -> dict[str, Any]:
    """Who loses a race has failed; an address may fail as often as it likes here."""
    without = hosting.NO_LIMITS["IDSYNC_ADDRESS_LIMIT"]
    return hosting.configuration(database_url, IDSYNC_ADDRESS_LIMIT=without)


@pytest.fixture
def person(host: Flask) -> hosting.Person:
    return hosting.add_person(host, "Ada", "ada@example.org", "correct horse", "--phone", PHONE)


def ready_to_post(browser: FlaskClient, path: str, code: str) -> tuple[str, str, dict[str, str]]:
    """What another process needs to send this form as this browser would."""
    form = {**hosting.hidden_fields(browser.get(path).text), "code": code}
    cookie = browser.get_cookie(browser.application.config["SESSION_COOKIE_NAME"])
    assert cookie is not None
    return cookie.value, path, form


def with_first_step(host: Flask, person: hosting.Person) -> FlaskClient:
    browser = host.test_client()
    hosting.sign_in(browser, person)
    return browser


def forgive(host: Flask) -> None:
    """Neither tries nor used codes of an earlier round count in the next."""
    with host.app_context():
        db.session.execute(text("DELETE FROM idsync_try"))
        db.session.execute(text("UPDATE idsync_totp SET last_step = 0"))
        db.session.commit()


def race_for_app_codes(host: Flask, person: hosting.Person, crew: Crew, rounds: int) -> None:
    own = with_first_step(host, person)
    app = hosting.set_up_app(own)
    for _ in range(rounds):
        forgive(host)
        code = app.code(time.time() + 15)  # right for long enough, whatever the time is
        forms = [
            ready_to_post(with_first_step(host, person), "/sign-in/second-factor", code)
            for _ in range(crew.size)
        ]
        answers = crew.together(sign_in_deeds.post, *forms)
        assert sorted(answers) == [RIGHT] + [WRONG] * (crew.size - 1)


def race_for_recovery_codes(host: Flask, person: hosting.Person, crew: Crew, rounds: int) -> None:
    own = with_first_step(host, person)
    codes = hosting.set_up_app(own).recovery_codes
    for round_ in range(rounds):
        forgive(host)
        if round_ % len(codes) == 0 and round_:
            with host.app_context():
                db.session.execute(text("UPDATE idsync_recovery_code SET used_at = NULL"))
                db.session.commit()
        forms = [
            ready_to_post(
                with_first_step(host, person),
                "/sign-in/second-factor",
                codes[round_ % len(codes)],
            )
            for _ in range(crew.size)
        ]
        answers = crew.together(sign_in_deeds.post, *forms)
        assert sorted(answers) == [RIGHT] + [WRONG] * (crew.size - 1)


def race_for_phone_codes(host: Flask, person: hosting.Person, crew: Crew, rounds: int) -> None:
    sent: list[str] = []
    codes = host.extensions[EXTENSION].sign_in.phone._codes
    codes._send_text = lambda phone, message: sent.append(message)
    for _ in range(rounds):
        with host.app_context():
            for table in ("idsync_try", "idsync_phone_code"):
                db.session.execute(text(f"DELETE FROM {table}"))  # noqa: S608
            db.session.commit()
        browser = host.test_client()
        hosting.submit(browser, "/sign-in/phone", {"phone": PHONE})
        code = re.findall(r"\d{6}", sent[-1])[0]
        forms = [ready_to_post(browser, "/sign-in/phone/code", code)] * crew.size
        answers = crew.together(sign_in_deeds.post, *forms)
        assert sorted(answers) == [RIGHT] + [WRONG] * (crew.size - 1)


RACES = pytest.mark.parametrize(
    "race_for", [race_for_app_codes, race_for_recovery_codes, race_for_phone_codes]
)


@RACES
def test_a_code_presented_at_once_works_once(
    host: Flask, person: hosting.Person, crew: Crews, race_for: Callable[..., None]
) -> None:
    """Of two processes, one signs in."""
    race_for(host, person, crew(2), 5)


@pytest.mark.proof
@RACES
def test_a_code_presented_at_once_works_once_100_times(
    host: Flask, person: hosting.Person, crew: Crews, race_for: Callable[..., None]
) -> None:
    """The same with four."""
    race_for(host, person, crew(4), 100)


def test_guesses_at_once_do_not_get_past_a_limit(
    host: Flask, person: hosting.Person, crew: Crews
) -> None:
    """Four processes guess 8 times each: ten guesses are looked at, as from one process."""
    outcomes: list[dict[Any, int]] = crew(4).together(
        sign_in_deeds.guess, *((person.email, 8) for _ in range(4))
    )
    assert sum(outcome["wrong"] for outcome in outcomes) == 10
    assert sum(outcome["refused"] for outcome in outcomes) == 22


def test_nobody_is_refused_because_somebody_else_signs_in(
    host: Flask, person: hosting.Person, crew: Crews
) -> None:
    """A right password gives the tries back while others take theirs."""
    outcomes = crew(4).together(
        sign_in_deeds.check_password, *((person.email, person.password, 20) for _ in range(4))
    )
    assert outcomes == [20] * 4
