"""Codes sent to a phone: six digits, five minutes, five tries, one live code, one browser."""

import re
from collections.abc import Iterator
from urllib.error import HTTPError

import pytest
from flask import Flask, current_app
from flask.testing import FlaskClient
from sqlalchemy import func, select, text

import hosting
from host_app.models import User, db, identity
from hosting import is_signed_in
from idsync import InvalidValue, RecentSignInRequired
from idsync.extension import EXTENSION
from idsync.signin.assembly import SignInTables
from idsync.signin.outbox import Outbox
from idsync.signin.senders import beside_requests, to_gateway
from phone_gateway import Gateway, running_gateway
from signin.conftest import Clock, amr

PHONE, NOBODYS, NEW = "+493012345678", "+493087654321", "+79261234567"


class Texts:
    """The phones of this test: what was sent to each."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []

    def put(self, phone: str, text: str) -> None:
        self.sent.append((phone, text))

    def code(self) -> str:
        found = re.match(r"(\d{6}) is your code for localhost\.", self.sent[-1][1])
        assert found, self.sent
        return found[1]


@pytest.fixture
def texts(app: Flask) -> Texts:
    """Put in place of the thread that sends, so that a test need not wait for it."""
    texts = Texts()
    app.extensions[EXTENSION].sign_in.phone._codes._send_text = texts.put
    return texts


@pytest.fixture
def person(app: Flask) -> hosting.Person:
    return hosting.add_person(app, "Ada", "ada@example.org", "correct horse", "--phone", PHONE)


def ask(browser: FlaskClient, phone: str = PHONE) -> int:
    return hosting.submit(browser, "/sign-in/phone", {"phone": phone}).status_code


def enter(browser: FlaskClient, code: str) -> int:
    return hosting.submit(browser, "/sign-in/phone/code", {"code": code}).status_code


def wrong(code: str) -> str:
    return f"{(int(code) + 1) % 1_000_000:06}"


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


# --- one's own number ----------------------------------------------------------------------------


def change(browser: FlaskClient, texts: Texts, phone: str = NEW) -> int:
    hosting.submit(browser, "/security/phone", {"phone": phone})
    return hosting.submit(browser, "/security/phone/code", {"code": texts.code()}).status_code


def test_a_number_is_added_changed_and_removed(
    app: Flask, texts: Texts, client: FlaskClient
) -> None:
    person = hosting.add_person(app)
    hosting.sign_in(client, person)
    assert change(client, texts, PHONE) == 303
    assert f"a code sent to {PHONE}" in client.get("/security").text
    assert change(client, texts) == 303
    browser = app.test_client()
    assert ask(browser) == 303
    assert texts.sent[-1][0] == NEW  # the old number is nobody's now
    ask(browser, NEW)
    assert enter(browser, texts.code()) == 303
    hosting.submit(client, "/security", {}, post_to="/security/phone/remove")
    assert "Add a number" in client.get("/security").text


def test_a_number_needs_the_code_sent_to_it(app: Flask, texts: Texts, client: FlaskClient) -> None:
    """A code asked for to sign in does not count, nor the other way round."""
    person = hosting.add_person(app)
    hosting.sign_in(client, person)
    hosting.submit(client, "/security/phone", {"phone": NEW})
    code = texts.code()
    assert hosting.submit(client, "/security/phone/code", {"code": wrong(code)}).status_code == 422
    assert client.get("/sign-in/phone/code").headers["Location"] == "/sign-in/phone"
    ask(client, NOBODYS)
    assert client.get("/security/phone/code").headers["Location"] == "/security/phone"
    assert "Add a number" in client.get("/security").text


def test_a_number_of_another_account_cannot_be_taken(
    app: Flask, person: hosting.Person, texts: Texts, client: FlaskClient
) -> None:
    """It is said only to whoever holds the phone."""
    grace = hosting.add_person(app, "Grace", "grace@example.org", "compiler")
    hosting.sign_in(client, grace)
    assert hosting.submit(client, "/security/phone", {"phone": PHONE}).status_code == 303
    answer = hosting.submit(client, "/security/phone/code", {"code": texts.code()})
    assert answer.status_code == 422
    assert "belongs to another account" in answer.text


def test_changing_how_one_signs_in_needs_a_recent_sign_in(
    app: Flask, texts: Texts, client: FlaskClient, clock: Clock
) -> None:
    """An unlocked computer is not enough."""
    person = hosting.add_person(app)
    hosting.sign_in(client, person)
    hosting.submit(client, "/security", {}, post_to="/security/app")
    clock.forward(601)
    for path in ("/security/phone", "/security/phone/code", "/security/app/confirm"):
        answer = client.get(path)
        assert answer.headers["Location"].startswith("/sign-in?next=/security/"), path
    token = hosting.hidden_fields(client.get("/security").text)
    for path in ("/security/phone/remove", "/security/app"):
        answer = client.post(path, data=token)
        assert answer.headers["Location"].startswith("/sign-in?next=/security"), path
    page = client.get(answer.headers["Location"])
    assert "Please sign in again" in page.text
    with client:
        client.get("/")
        user = identity.find_user(person.email)
        assert isinstance(user, User)
        with pytest.raises(RecentSignInRequired):
            identity.phone.request_change(user, NEW, "{code}")
    hosting.sign_in(client, person, address="/sign-in?next=/security/phone")
    assert client.get("/security/phone").status_code == 200


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


# --- how a message is sent -----------------------------------------------------------------------


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with running_gateway() as gateway:
        yield gateway


def test_a_gateway_gets_number_text_and_token(gateway: Gateway) -> None:
    to_gateway(gateway.address, "secret-token")(PHONE, "123456 is your code")
    assert gateway.messages == [{"to": PHONE, "text": "123456 is your code"}]
    assert gateway.tokens == ["Bearer secret-token"]


def test_a_code_goes_through_the_gateway_beside_the_request(
    database_url: str, gateway: Gateway
) -> None:
    app = hosting.make_host(database_url, IDSYNC_PHONE_SENDER=gateway.address)
    try:
        hosting.add_person(app, "Ada", "a@example.org", "correct horse", "--phone", PHONE)
        browser = app.test_client()
        assert ask(browser) == 303
        message = gateway.wait_for(1)
        assert (message["to"], gateway.tokens) == (PHONE, [None])
        assert enter(browser, message["text"][:6]) == 303
    finally:
        hosting.close_host(app)


def test_a_gateway_that_refuses_is_logged_without_the_code(
    app: Flask, gateway: Gateway, caplog: pytest.LogCaptureFixture
) -> None:
    """And the request hears nothing of it: it would tell that the number is somebody's."""
    gateway.status, outbox = 500, Outbox()
    with app.app_context():
        send = beside_requests(outbox, to_gateway(gateway.address, "secret-token"))
        send(PHONE, "123456 is your code")
    outbox.close()
    assert "No message could be sent to a number ending in 78: HTTPError" in caplog.text
    for secret in ("123456", "secret-token", PHONE):
        assert secret not in caplog.text


def test_a_gateway_that_moved_gets_neither_code_nor_token(gateway: Gateway) -> None:
    with running_gateway() as elsewhere:
        gateway.status, gateway.location = 302, elsewhere.address
        with pytest.raises(HTTPError):
            to_gateway(gateway.address, "secret-token")(PHONE, "123456 is your code")
        assert (elsewhere.messages, elsewhere.tokens) == ([], [])


def test_a_sender_of_the_host_may_use_the_application(app: Flask) -> None:
    """It runs in a thread, but not without the application it belongs to."""
    sent: list[str] = []

    def send_text(phone: str, text: str) -> None:
        assert current_app.config["SECRET_KEY"]
        sent.append(phone)

    outbox = Outbox()
    with app.app_context():
        beside_requests(outbox, send_text)(PHONE, "123456")
    outbox.close()
    assert sent == [PHONE]


def test_what_one_person_began_is_not_for_the_next(
    app: Flask, texts: Texts, client: FlaskClient
) -> None:
    """A number that somebody was about to add is neither shown to nor taken by somebody else."""
    ada = hosting.add_person(app)
    grace = hosting.add_person(app, "Grace", "grace@example.org", "compiler")
    hosting.sign_in(client, ada)
    hosting.submit(client, "/security/phone", {"phone": NEW})
    with client.session_transaction() as kept:
        begun = kept["_idsync_phone"]
    hosting.submit(client, "/", {}, post_to="/sign-out")
    hosting.sign_in(client, grace)
    assert client.get("/security/phone/code").headers["Location"] == "/security/phone"
    with client.session_transaction() as kept:
        kept["_idsync_phone"] = begun
    assert client.get("/security/phone/code").headers["Location"] == "/security/phone"


def test_a_number_typed_long_ago_is_not_shown(
    client: FlaskClient, texts: Texts, clock: Clock
) -> None:
    ask(client, NOBODYS)
    clock.forward(601)
    assert client.get("/sign-in/phone/code").headers["Location"] == "/sign-in/phone"


def test_one_account_sends_only_so_many_messages(
    app: Flask, texts: Texts, client: FlaskClient
) -> None:
    """However many numbers it names."""
    hosting.sign_in(client, hosting.add_person(app))
    for number in range(8):
        hosting.submit(client, "/security/phone", {"phone": f"+4930123456{number}0"})
    assert len(texts.sent) == 5


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
