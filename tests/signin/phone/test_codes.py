"""Codes sent to a phone: six digits, five minutes, five tries, one live code, one browser."""

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import func, select, text

import hosting
from host_app.models import db, identity
from hosting import is_signed_in
from idsync import InvalidValue
from idsync.signin.assembly import SignInTables
from signin.conftest import Clock, amr
from signin.phone.texts import NOBODYS, PHONE, Texts, ask, enter, wrong


def test_the_code_signs_in_once(
    app: Flask, person: hosting.Person, texts: Texts, client: FlaskClient
) -> None:
    """However the number was written."""
    assert ask(client, "+49 (30) 1234-5678") == 303
    (phone, message), code = texts.sent[0], texts.code()
    assert phone == PHONE
    assert message.endswith(f"\n\n@localhost #{code}")  # what WebOTP fills in
    assert enter(client, f" {code[:3]} {code[3:]}") == 303
    assert is_signed_in(client)
    assert amr(client) == ("sms",)
    hosting.submit(client, "/", {}, post_to="/sign-out")
    assert client.get("/sign-in/phone/code").headers["Location"] == "/sign-in/phone"


def test_an_unknown_number_is_answered_alike(
    person: hosting.Person, texts: Texts, app: Flask, clock: Clock
) -> None:
    """Word for word, at each step, and no message is sent."""
    answers: dict[str, list[tuple[int, str | None, str]]] = {}
    for phone in (PHONE, NOBODYS):
        browser = app.test_client()
        steps = [
            hosting.submit(browser, "/sign-in/phone", {"phone": phone}),
            browser.get("/sign-in/phone/code"),
            *(hosting.submit(browser, "/sign-in/phone/code", {"code": "1"}) for _ in range(7)),
            hosting.submit(browser, "/sign-in/phone", {"phone": phone}),
        ]
        answers[phone] = [
            (
                one.status_code,
                one.headers.get("Location"),
                re.sub(r'value="[^"]*"', "", one.text.replace(phone, "PHONE")),
            )
            for one in steps
        ]
    assert answers[PHONE] == answers[NOBODYS]
    assert [phone for phone, _ in texts.sent] == [PHONE]


def test_a_disabled_account_gets_no_code(
    app: Flask, person: hosting.Person, texts: Texts, client: FlaskClient
) -> None:
    hosting.run(app, "idsync", "account", "disable", person.id)
    assert ask(client) == 303
    assert texts.sent == []


def test_an_account_disabled_meanwhile_is_not_signed_in(
    app: Flask, person: hosting.Person, texts: Texts, client: FlaskClient
) -> None:
    ask(client)
    hosting.run(app, "idsync", "account", "disable", person.id)
    assert enter(client, texts.code()) == 422
    assert not is_signed_in(client)


def test_five_wrong_tries_end_a_code(
    person: hosting.Person, texts: Texts, client: FlaskClient
) -> None:
    ask(client)
    code = texts.code()
    assert [enter(client, wrong(code)) for _ in range(5)] == [422] * 5
    assert enter(client, code) == 422
    assert not is_signed_in(client)


def test_a_code_lives_five_minutes(
    person: hosting.Person, texts: Texts, client: FlaskClient, clock: Clock
) -> None:
    ask(client)
    clock.forward(299)
    assert enter(client, wrong(texts.code())) == 422
    clock.forward(2)
    assert enter(client, texts.code()) == 422


def test_another_code_is_sent_after_a_minute_and_ends_the_first(
    person: hosting.Person, texts: Texts, client: FlaskClient, clock: Clock
) -> None:
    ask(client)
    first = texts.code()
    clock.forward(30)
    answer = hosting.submit(client, "/sign-in/phone", {"phone": PHONE})
    assert answer.status_code == 429
    assert answer.headers["Retry-After"] in ("30", "31")
    assert len(texts.sent) == 1
    clock.forward(31)
    while texts.code() == first:  # one in a million
        assert ask(client) == 303
        clock.forward(61)
    assert enter(client, first) == 422
    assert enter(client, texts.code()) == 303


def test_only_so_many_messages_go_to_one_number(
    person: hosting.Person, texts: Texts, app: Flask, clock: Clock
) -> None:
    """They cost money, and annoy; whoever asks."""
    for _ in range(10):
        ask(app.test_client())
        clock.forward(61)
    assert len(texts.sent) == 5
    clock.forward(720)
    assert ask(app.test_client()) == 303
    assert len(texts.sent) == 6


def test_a_code_works_in_the_browser_that_asked(
    app: Flask, person: hosting.Person, texts: Texts, client: FlaskClient
) -> None:
    """And tries elsewhere do not use up its own."""
    ask(client)
    thief = app.test_client()
    ask(thief, NOBODYS)
    with thief.session_transaction() as kept:
        kept["_idsync_phone"] = [PHONE, *kept["_idsync_phone"][1:]]
    assert [enter(thief, texts.code()) for _ in range(6)] == [422] * 6
    assert enter(client, texts.code()) == 303


def test_the_database_does_not_show_a_code(
    person: hosting.Person,
    texts: Texts,
    client: FlaskClient,
    app: Flask,
    tables: SignInTables,
) -> None:
    """Six digits behind a plain hash would be found by trying a million."""
    ask(client)
    with app.app_context():
        row = db.session.execute(select(tables.phone_code)).one()
    assert len(row.code) == 32
    assert texts.code() not in str(row)


@pytest.mark.parametrize("number", ["", "12", "030 12345678", "+49 CALL-ME", "+4930" + "1" * 20])
def test_what_is_no_number_is_refused(client: FlaskClient, texts: Texts, number: str) -> None:
    answer = hosting.submit(client, "/sign-in/phone", {"phone": number})
    assert answer.status_code == 422
    assert texts.sent == []


def test_a_service_that_reaches_no_phone_offers_none(database_url: str) -> None:
    """The console is for the developer beside it: a service's log is read by others."""
    app = hosting.make_host(database_url, IDSYNC_ISSUER="https://id.example.org")
    try:
        browser = app.test_client()
        assert "phone" not in browser.get("/sign-in", base_url="https://id.example.org").text
        assert browser.get("/sign-in/phone", base_url="https://id.example.org").status_code == 404
        with app.test_request_context(), pytest.raises(InvalidValue):
            identity.phone.request_code(PHONE, "{code}")
    finally:
        hosting.close_host(app)


def test_prune_forgets_old_codes(
    app: Flask, texts: Texts, client: FlaskClient, tables: SignInTables, clock: Clock
) -> None:
    ask(client, PHONE)
    clock.forward(2000)
    ask(client, NOBODYS)
    clock.forward(2000)
    hosting.run(app, "idsync", "prune")
    with app.app_context():
        left = db.session.scalars(select(tables.phone_code.c.phone)).all()
    assert left == [NOBODYS]


def test_a_number_typed_long_ago_is_not_shown(
    client: FlaskClient, texts: Texts, clock: Clock
) -> None:
    ask(client, NOBODYS)
    clock.forward(601)
    assert client.get("/sign-in/phone/code").headers["Location"] == "/sign-in/phone"


def test_a_count_of_rows_stays_small(
    app: Flask, texts: Texts, clock: Clock, tables: SignInTables
) -> None:
    """One row for a number and purpose, however often it is asked for."""
    for _ in range(3):
        ask(app.test_client())
        clock.forward(61)
    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(tables.phone_code)) == 1
        assert db.session.execute(text("SELECT tries_left FROM idsync_phone_code")).scalar() == 5
