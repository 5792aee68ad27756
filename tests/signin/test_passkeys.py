"""Passkeys: alone, as the second step, and what a forger may try with them."""

import html
import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

import hosting
from authenticator import SecurityKey, decode, encode
from host_app.models import db, identity
from hosting import is_signed_in
from idsync import RecentSignInRequired
from idsync.accounts.record import AccountRecord
from idsync.signin.assembly import SignIn
from signin.conftest import Clock, amr

ORIGIN = hosting.ISSUER


@pytest.fixture
def person(app: Flask, client: FlaskClient) -> hosting.Person:
    """Signed in at `client`."""
    person = hosting.add_person(app)
    hosting.sign_in(client, person)
    return person


@pytest.fixture
def other(app: Flask) -> FlaskClient:
    return app.test_client()


def options_on(browser: FlaskClient, path: str) -> str:
    found = re.search(r'data-options="([^"]*)"', browser.get(path).text)
    assert found, path
    return html.unescape(found[1])


def add(browser: FlaskClient, key: SecurityKey, label: str = "My key", **changed: object) -> int:
    path = "/security/passkeys/new"
    answer = key.create(options_on(browser, path), **changed)
    return hosting.submit(browser, path, {"answer": answer, "label": label}).status_code


def sign_in(browser: FlaskClient, answer: str) -> bool:
    hosting.submit(browser, "/sign-in?next=/", {"answer": answer}, post_to="/sign-in/passkey")
    return is_signed_in(browser)


def sign_in_with(browser: FlaskClient, key: SecurityKey, **changed: object) -> bool:
    return sign_in(browser, key.get(options_on(browser, "/sign-in?next=/"), **changed))


# --- the right way --------------------------------------------------------------------------------


def test_a_passkey_signs_in_alone_by_two_factors(
    app: Flask, client: FlaskClient, person: hosting.Person, other: FlaskClient
) -> None:
    """The key, and what unlocks it; the application hears so."""
    key = SecurityKey(ORIGIN)
    path = "/security/passkeys/new"
    answer = hosting.submit(
        client, path, {"answer": key.create(options_on(client, path)), "label": "My key"}
    )
    assert len(re.findall(r"<li><code>", answer.text)) == 10
    assert is_signed_in(client)
    assert amr(client) == ("pwd", "hwk", "mfa")
    shown = hosting.run(app, "idsync", "account", "show", person.id, "--json")
    assert shown["mfa"] is True
    assert sign_in_with(other, key)
    assert amr(other) == ("hwk", "user", "mfa")
    assert "Last used" in other.get("/security").text
    synced = SecurityKey(ORIGIN, synced=True, counts=False)
    assert add(other, synced, "My phone") == 303
    third = app.test_client()
    assert sign_in_with(third, synced)
    assert amr(third) == ("swk", "user", "mfa")


def test_a_passkey_is_the_second_step(
    client: FlaskClient, person: hosting.Person, other: FlaskClient
) -> None:
    """Even one that does not ask who the person is: the password did."""
    key = SecurityKey(ORIGIN, verifies=False)
    add(client, key)
    hosting.sign_in(other, person)
    assert not is_signed_in(other)
    answer = key.get(options_on(other, "/sign-in/second-factor"))
    hosting.submit(
        other,
        "/sign-in/second-factor",
        {"answer": answer},
        post_to="/sign-in/second-factor/passkey",
    )
    assert is_signed_in(other)
    assert amr(other) == ("pwd", "hwk", "mfa")


def test_recovery_codes_help_who_lost_the_passkey(
    client: FlaskClient, person: hosting.Person, other: FlaskClient
) -> None:
    key = SecurityKey(ORIGIN)
    path = "/security/passkeys/new"
    answer = hosting.submit(
        client, path, {"answer": key.create(options_on(client, path)), "label": "My key"}
    )
    codes = re.findall(r"<li><code>([^<]+)</code>", answer.text)
    hosting.sign_in(other, person)
    hosting.submit(other, "/sign-in/second-factor", {"code": codes[0]})
    assert is_signed_in(other)
    remove = f"/security/passkeys/{encode(key.id)}/remove"
    assert hosting.submit(other, remove, {"code": codes[0]}).status_code == 422
    assert hosting.submit(other, remove, {"code": codes[1]}).status_code == 303
    hosting.submit(other, "/", {}, post_to="/sign-out")
    hosting.sign_in(other, person)
    assert is_signed_in(other)  # by the password alone again


def test_a_passkey_removes_itself_and_the_app_stays(
    app: Flask, client: FlaskClient, person: hosting.Person
) -> None:
    """mfa follows the last factor."""
    key = SecurityKey(ORIGIN)
    add(client, key)
    hosting.set_up_app(client)
    remove = f"/security/passkeys/{encode(key.id)}/remove"
    answer = key.get(options_on(client, remove))
    assert hosting.submit(client, remove, {"answer": answer}).status_code == 303
    assert client.get(remove).status_code == 404
    shown = hosting.run(app, "idsync", "account", "show", person.id, "--json")
    assert shown["mfa"] is True


# --- what a forger tries --------------------------------------------------------------------------


def test_an_answer_works_once(client: FlaskClient, person: object, other: FlaskClient) -> None:
    """Also from a key that does not count, and in another browser."""
    key = SecurityKey(ORIGIN, counts=False)
    add(client, key)
    answer = key.get(options_on(other, "/sign-in"))
    assert sign_in(other, answer)
    hosting.submit(other, "/", {}, post_to="/sign-out")
    assert not sign_in(other, answer)


def test_a_copied_key_is_noticed(client: FlaskClient, person: object, other: FlaskClient) -> None:
    """Its counter was used already."""
    key = SecurityKey(ORIGIN)
    add(client, key)
    assert sign_in_with(other, key)
    hosting.submit(other, "/", {}, post_to="/sign-out")
    key.count -= 1
    assert not sign_in_with(other, key)


def test_of_a_key_and_its_copy_used_at_once_one_signs_in(
    app: Flask,
    client: FlaskClient,
    person: object,
    other: FlaskClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both were right when they were looked at; the row decides who was first."""
    key = SecurityKey(ORIGIN)
    add(client, key)
    quicker = app.test_client()
    answer = key.get(options_on(other, "/sign-in?next=/"))
    key.count -= 1
    copys = key.get(options_on(quicker, "/sign-in?next=/"))
    challenges = app.extensions["idsync"].sign_in.passkeys._passkeys._ceremonies._challenges
    use_up = challenges.use_up

    def use_up_too_late(challenge: bytes) -> bool:
        monkeypatch.undo()
        db.session.rollback()
        with ThreadPoolExecutor(1) as beside:  # a thread, for a request context of its own
            assert beside.submit(sign_in, quicker, copys).result()
        used: bool = use_up(challenge)
        return used

    monkeypatch.setattr(challenges, "use_up", use_up_too_late)
    assert not sign_in(other, answer)


@pytest.mark.parametrize(
    "changed",
    [
        {"origin": "https://evil.example"},
        {"rp_id": "evil.example"},
        {"type": "webauthn.create"},
        {"challenge": encode(b"not ours")},
        {"challenge": ""},
    ],
)
def test_an_answer_to_another_question_is_refused(
    client: FlaskClient, person: object, other: FlaskClient, changed: dict[str, str]
) -> None:
    """Another site's, another kind's, or nobody's."""
    key = SecurityKey(ORIGIN)
    add(client, key)
    assert not sign_in_with(other, key, **changed)
    assert sign_in_with(other, key)


def test_a_key_that_does_not_ask_who_it_is_signs_nobody_in_alone(
    client: FlaskClient, person: object, other: FlaskClient
) -> None:
    """Whoever finds it would have one factor only."""
    key = SecurityKey(ORIGIN, verifies=False)
    add(client, key)
    assert not sign_in_with(other, key)


def test_an_answer_of_an_unknown_key_is_refused(
    client: FlaskClient, person: object, other: FlaskClient
) -> None:
    key, unknown = SecurityKey(ORIGIN), SecurityKey(ORIGIN)
    add(client, key)
    unknown.id = key.id  # another key that says it is this one
    assert not sign_in_with(other, unknown)
    assert not sign_in_with(other, SecurityKey(ORIGIN))


def test_a_challenge_is_for_one_purpose(
    app: Flask, client: FlaskClient, person: hosting.Person, other: FlaskClient
) -> None:
    """An answer got on one page opens nothing on another."""
    key = SecurityKey(ORIGIN)
    add(client, key)
    confirm = options_on(client, f"/security/passkeys/{encode(key.id)}/remove")
    assert not sign_in(other, key.get(confirm))
    hosting.sign_in(other, person)
    answer = key.get(options_on(app.test_client(), "/sign-in"))
    post_to = "/sign-in/second-factor/passkey"
    hosting.submit(other, "/sign-in/second-factor", {"answer": answer}, post_to=post_to)
    assert not is_signed_in(other)


def test_an_answer_got_in_another_browser_is_refused(
    app: Flask, client: FlaskClient, person: object, other: FlaskClient
) -> None:
    """Or somebody could be signed in as somebody else without noticing."""
    key = SecurityKey(ORIGIN)
    add(client, key)
    answer = key.get(options_on(app.test_client(), "/sign-in"))
    assert not sign_in(other, answer)


@pytest.mark.parametrize("answer", ["[" * 16_000, '{"a":' * 3_000, "", "null", '"\\ud83d"'])
def test_what_no_browser_sends_is_refused(other: FlaskClient, answer: str) -> None:
    sent = hosting.submit(other, "/sign-in", {"answer": answer}, post_to="/sign-in/passkey")
    assert sent.status_code == 303
    assert not is_signed_in(other)


def test_an_account_erased_between_the_steps_is_refused(
    app: Flask, client: FlaskClient, person: hosting.Person, other: FlaskClient
) -> None:
    key = SecurityKey(ORIGIN)
    add(client, key)
    hosting.sign_in(other, person)
    answer = key.get(options_on(other, "/sign-in/second-factor"))
    page = other.get("/sign-in/second-factor")
    hosting.run(app, "idsync", "account", "erase", person.id, "--yes")
    fields = {**hosting.hidden_fields(page.text), "answer": answer}
    assert other.post("/sign-in/second-factor/passkey", data=fields).status_code == 303
    assert not is_signed_in(other)


def test_adding_a_factor_is_no_new_sign_in(
    client: FlaskClient, person: object, clock: Clock
) -> None:
    """The ten minutes in which factors may be changed run from the last real proof."""
    clock.forward(400)
    assert add(client, SecurityKey(ORIGIN)) == 200
    clock.forward(201)
    answer = client.get("/security/passkeys/new")
    assert answer.headers["Location"].startswith("/sign-in")


def test_a_session_that_ends_meanwhile_adds_nothing(
    app: Flask, client: FlaskClient, person: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner changes the password while a thief adds a key to the account.

    That comes between the last look at the session and the lock of the account's row.
    """
    path, key = "/security/passkeys/new", SecurityKey(ORIGIN)
    answer = key.create(options_on(client, path))
    page = client.get(path)
    directory = app.extensions["idsync"].directory
    lock = directory.record

    def lock_too_late(subject: str) -> AccountRecord:
        db.session.rollback()
        with db.engine.begin() as connection:
            connection.execute(
                text("UPDATE idsync_account SET epoch = :epoch"), {"epoch": b"x" * 8}
            )
        record: AccountRecord = lock(subject)
        return record

    monkeypatch.setattr(directory, "record", lock_too_late)
    fields = {**hosting.hidden_fields(page.text), "answer": answer, "label": "x"}
    sent = client.post(path, data=fields)
    assert sent.headers["Location"].startswith("/sign-in")
    monkeypatch.undo()
    assert not sign_in_with(app.test_client(), key)


@pytest.mark.parametrize(
    ("issuer", "origin"),
    [
        ("https://ID.example.org:443", "https://id.example.org"),
        ("https://id.example.org:8443/sso", "https://id.example.org:8443"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_the_origin_is_written_as_browsers_do(parts: SignIn, issuer: str, origin: str) -> None:
    ceremonies = parts.passkeys._passkeys._ceremonies
    ceremonies._issuer = lambda: issuer
    assert ceremonies._origin() == origin


def test_a_host_that_does_not_answer_it_asks_to_sign_in_again(
    app: Flask, client: FlaskClient, person: object, clock: Clock
) -> None:
    """RecentSignInRequired has an answer of its own: the host's sign-in page."""
    del app.error_handler_spec[None][None][RecentSignInRequired]
    app.extensions["idsync"].sign_in.browser.connect(app)
    clock.forward(601)
    assert client.get("/security/passkeys/new").headers["Location"].startswith("/sign-in?next=")
    assert not is_signed_in(client)


def test_a_passkey_helps_who_lost_the_app(
    client: FlaskClient, person: object, other: FlaskClient
) -> None:
    """It removes the app, and makes new recovery codes."""
    hosting.set_up_app(client)
    key = SecurityKey(ORIGIN)
    assert add(client, key) == 303  # there are recovery codes already
    answer = key.get(options_on(client, "/security/recovery-codes"))
    made = hosting.submit(client, "/security/recovery-codes", {"answer": answer})
    assert len(re.findall(r"<li><code>", made.text)) == 10
    answer = key.get(options_on(client, "/security/app/remove"))
    assert hosting.submit(client, "/security/app/remove", {"answer": answer}).status_code == 303
    assert "Set up an authenticator app" in client.get("/security").text
    assert sign_in_with(other, key)


def test_a_challenge_waits_ten_minutes(
    client: FlaskClient, person: object, other: FlaskClient, clock: Clock
) -> None:
    key = SecurityKey(ORIGIN)
    add(client, key)
    answer = key.get(options_on(other, "/sign-in"))
    clock.forward(601)
    assert not sign_in(other, answer)


def test_anothers_passkey_is_no_second_step(
    app: Flask, client: FlaskClient, person: hosting.Person, other: FlaskClient
) -> None:
    add(client, SecurityKey(ORIGIN))
    thief, own = app.test_client(), SecurityKey(ORIGIN)
    grace = hosting.add_person(app, "Grace", "grace@example.org", "compiler")
    hosting.sign_in(thief, grace)
    add(thief, own)
    hosting.sign_in(other, person)
    answer = own.get(options_on(other, "/sign-in/second-factor"))
    post_to = "/sign-in/second-factor/passkey"
    hosting.submit(other, "/sign-in/second-factor", {"answer": answer}, post_to=post_to)
    assert not is_signed_in(other)


def test_a_passkey_made_for_one_account_is_not_kept_by_another(
    app: Flask, client: FlaskClient, person: object, other: FlaskClient
) -> None:
    """Nor one that somebody has already."""
    grace = hosting.add_person(app, "Grace", "grace@example.org", "compiler")
    hosting.sign_in(other, grace)
    path, key = "/security/passkeys/new", SecurityKey(ORIGIN)
    answer = key.create(options_on(client, path))
    fields = {"answer": answer, "label": "x"}
    assert hosting.submit(other, path, fields).status_code == 422
    assert hosting.submit(client, path, fields).status_code == 200
    assert add(other, key) == 422
    assert add(other, SecurityKey(ORIGIN), origin="https://evil.example") == 422


def test_a_disabled_account_is_not_signed_in(
    app: Flask, client: FlaskClient, person: hosting.Person, other: FlaskClient
) -> None:
    key = SecurityKey(ORIGIN)
    add(client, key)
    hosting.run(app, "idsync", "account", "disable", person.id)
    assert not sign_in_with(other, key)


def test_reset_factors_forgets_passkeys(
    app: Flask, client: FlaskClient, person: hosting.Person, other: FlaskClient
) -> None:
    key = SecurityKey(ORIGIN)
    add(client, key)
    hosting.run(app, "idsync", "account", "reset-factors", person.id)
    assert not sign_in_with(other, key)
    hosting.sign_in(other, person)
    assert is_signed_in(other)


@pytest.mark.parametrize("label", ["", " ", "x" * 61, "right\u202eleft"])
def test_a_label_is_text(client: FlaskClient, person: object, label: str) -> None:
    assert add(client, SecurityKey(ORIGIN), label) == 422


def test_failed_answers_count_against_the_address(database_url: str) -> None:
    app = hosting.make_host(database_url, IDSYNC_ADDRESS_LIMIT="3 per hour")
    try:
        browser = app.test_client()
        key = SecurityKey(ORIGIN)
        statuses = []
        for _ in range(4):
            answer = key.get(options_on(browser, "/sign-in"))
            fields = {"answer": answer}
            sent = hosting.submit(browser, "/sign-in", fields, post_to="/sign-in/passkey")
            statuses.append(sent.status_code)
        assert statuses == [303, 303, 303, 429]
    finally:
        hosting.close_host(app)


@pytest.fixture
def check(app: Flask, parts: SignIn) -> Iterator[Callable[[str], object]]:
    """Checks an answer of a browser as the sign-in page does."""
    passkeys = parts.passkeys._passkeys
    with app.test_request_context():
        yield lambda answer: passkeys.check("sign in", answer, alone=True)


@pytest.fixture
def key(client: FlaskClient, person: object) -> SecurityKey:
    """A key that somebody has added, and that answers rightly."""
    key = SecurityKey(ORIGIN, counts=False)
    add(client, key)
    assert sign_in_with(client.application.test_client(), key)
    return key


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=9,
)
PARTS = ("id", "rawId", "type", "response", "clientExtensionResults")
WITHIN = ("clientDataJSON", "authenticatorData", "signature", "userHandle")


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_garbage_from_a_browser_is_refused_and_fails_nothing(
    key: SecurityKey, check: Callable[[str], object], data: st.DataObject
) -> None:
    """A right answer with one part spoilt, or anything at all."""
    answer = json.loads(key.get(identity.passkeys.sign_in_options()))
    spoilt = data.draw(st.sampled_from((*PARTS, *WITHIN, "all", "bytes")))
    if spoilt == "all":
        answer = data.draw(json_values)
    elif spoilt == "bytes":
        where = data.draw(st.sampled_from(WITHIN[:3]))
        raw = bytearray(decode(answer["response"][where]))
        raw[data.draw(st.integers(0, 999)) % len(raw)] ^= data.draw(st.integers(1, 255))
        answer["response"][where] = encode(bytes(raw))
    elif spoilt in PARTS:
        answer[spoilt] = data.draw(json_values)
    else:
        answer["response"][spoilt] = data.draw(json_values)
    found = check(json.dumps(answer))
    # The device may have said the same in other words, but what it signed is one thing.
    assert found is None or spoilt in (*PARTS, "userHandle")
    assert check(data.draw(st.text(max_size=50))) is None
