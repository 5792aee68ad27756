"""What a forger may try with the answers of passkeys."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hosting
from authenticator import SecurityKey, decode, encode
from host_app.models import db, identity
from hosting import is_signed_in
from idsync.signin.assembly import SignIn
from signin.conftest import Clock
from signin.passkeys.keys import ORIGIN, add, options_on, sign_in, sign_in_with


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
