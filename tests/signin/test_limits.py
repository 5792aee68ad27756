"""Tries: some at once, then one for each interval; per account in rows, per address in memory."""

import logging
import secrets
import socket
from dataclasses import replace

import pytest
from flask import Flask
from sqlalchemy import func, select

import hosting
from host_app.models import User, db, identity
from idsync import ConfigurationError, Settings, TooManyTries
from idsync.signin.assembly import SignIn, SignInTables
from idsync.signin.factors import NewApp
from idsync.signin.first_step import FirstStep
from idsync.signin.limits import AddressLimit, TryLimit
from signin.conftest import Clock

VISITOR = {"REMOTE_ADDR": "192.0.2.1"}


@pytest.fixture
def limit(parts: SignIn, tables: SignInTables) -> TryLimit:
    return TryLimit(db.session, tables.tries, "test", tries=3, interval=60)


def use_up(limit: TryLimit, whose: str = "ada") -> int:
    """Take tries until there is none; how many there were."""
    for taken in range(20):
        try:
            limit.take(whose)
        except TooManyTries:
            return taken
    raise AssertionError("There is no limit.")


def test_some_tries_at_once_then_one_for_each_interval(limit: TryLimit, clock: Clock) -> None:
    assert use_up(limit) == 3
    clock.forward(59)
    assert use_up(limit) == 0
    clock.forward(1)
    assert use_up(limit) == 1
    clock.forward(2 * 60)
    assert use_up(limit) == 2
    clock.forward(24 * 3600)
    assert use_up(limit) == 3


def test_it_says_how_long_to_wait(limit: TryLimit, clock: Clock) -> None:
    use_up(limit)
    clock.forward(20.5)
    with pytest.raises(TooManyTries) as refused:
        limit.take("ada")
    assert refused.value.retry_after == 40
    clock.forward(40)
    limit.take("ada")


def test_a_refused_try_costs_nothing(limit: TryLimit, clock: Clock) -> None:
    """Or whoever goes on trying would keep the owner out for ever."""
    use_up(limit)
    for _ in range(30):
        clock.forward(1.9)
        assert use_up(limit) == 0
    clock.forward(3.1)
    assert use_up(limit) == 1


def test_a_clock_that_was_wrong_locks_nobody_out(limit: TryLimit, clock: Clock) -> None:
    """Tries counted in a future that never came count for nothing."""
    clock.forward(1_000_000)
    use_up(limit)
    clock.forward(-1_000_000)
    assert use_up(limit) == 3


@pytest.mark.parametrize("apart", [0.1, 60, 299])
def test_machines_whose_clocks_differ_give_no_more_tries(
    limit: TryLimit, clock: Clock, apart: float
) -> None:
    """The slower one sees a time that is not there yet."""
    use_up(limit)
    clock.forward(-apart)
    assert use_up(limit) == 0


def test_forgiven_tries_are_free_and_others_are_not(limit: TryLimit) -> None:
    use_up(limit, "ada")
    use_up(limit, "grace")
    limit.forgive("ada")
    db.session.commit()
    assert use_up(limit, "ada") == 3
    assert use_up(limit, "grace") == 0


def test_nothing_that_was_typed_is_kept(limit: TryLimit, tables: SignInTables) -> None:
    """People type passwords into the e-mail field."""
    limit.take("my secret password")
    row = db.session.execute(select(tables.tries)).one()
    assert b"secret" not in row.id
    assert len(row.id) == 32


def test_a_count_is_kept_when_the_request_fails(limit: TryLimit) -> None:
    """A guess that makes the view fail was a guess."""
    limit.take("ada")
    db.session.rollback()
    assert use_up(limit) == 2


def check(user: User | None, plain: str, login: str = "") -> bool:
    return identity.check_password(user, plain, login=login)


@pytest.mark.parametrize("known", [True, False])
def test_known_and_unknown_people_run_into_the_same_limit(
    app: Flask, ada: User, known: bool, clock: Clock
) -> None:
    """Or the limit would tell who has an account."""
    user, login = (ada, "ada@example.org") if known else (None, "nobody@example.org")
    with app.test_request_context(environ_base=VISITOR):
        for number in range(10):
            # However it is written.
            assert not check(user, "wrong", login if number % 2 else login.upper())
        with pytest.raises(TooManyTries) as refused:
            check(user, "wrong", login)
    assert refused.value.retry_after == 360


def test_the_right_password_gives_all_tries_back(app: Flask, ada: User) -> None:
    with app.test_request_context(environ_base=VISITOR):
        for _ in range(3):
            for _ in range(8):
                assert not check(ada, "wrong")
            assert check(ada, "correct horse")
            db.session.commit()


def test_the_right_password_is_no_way_round_a_used_up_limit(app: Flask, ada: User) -> None:
    """Or a guesser would just go on."""
    with app.test_request_context(environ_base=VISITOR):
        for _ in range(10):
            check(ada, "wrong")
        with pytest.raises(TooManyTries):
            check(ada, "correct horse")


def test_a_browser_that_signed_in_before_has_tries_of_its_own(database_url: str) -> None:
    """A stranger who uses the tries up does not keep the owner out."""
    app = hosting.make_host(database_url, IDSYNC_ADDRESS_LIMIT="1000 per minute")
    try:
        person = hosting.add_person(app)
        own, stranger = app.test_client(), app.test_client()
        hosting.sign_in(own, person)
        hosting.submit(own, "/", {}, post_to="/sign-out")
        answers = [hosting.sign_in(stranger, person, password="guess") for _ in range(11)]
        assert [answer.status_code for answer in answers] == [422] * 10 + [429]
        assert hosting.sign_in(stranger, person).status_code == 429
        assert hosting.sign_in(own, person).status_code == 303
        # And these are limited too, whatever cookie the browser sends.
        hosting.submit(own, "/", {}, post_to="/sign-out")
        answers = [hosting.sign_in(own, person, password="guess") for _ in range(11)]
        assert [answer.status_code for answer in answers] == [422] * 10 + [429]
    finally:
        hosting.close_host(app)


def test_a_device_cookie_of_another_account_or_another_hand_is_worth_nothing(
    database_url: str,
) -> None:
    app = hosting.make_host(database_url, IDSYNC_ADDRESS_LIMIT="1000 per minute")
    try:
        ada = hosting.add_person(app)
        grace = hosting.add_person(app, "Grace", "grace@example.org", "compiler")
        thief, owner = app.test_client(), app.test_client()
        for browser, person in ((thief, grace), (owner, ada)):
            hosting.sign_in(browser, person)
            hosting.submit(browser, "/", {}, post_to="/sign-out")
        foreign, own = (one.get_cookie("idsync_device") for one in (thief, owner))
        assert foreign is not None
        assert own is not None
        altered = own.decoded_value[:-10] + own.decoded_value[-10:].swapcase()
        tries = 0
        for value in (foreign.decoded_value, altered, ""):
            thief.set_cookie("idsync_device", value)
            while hosting.sign_in(thief, ada, password="guess").status_code == 422:
                tries += 1
        assert tries == 10
    finally:
        hosting.close_host(app)


def test_the_page_says_how_long_to_wait(app: Flask) -> None:
    """429, with Retry-After, and in words."""
    person = hosting.add_person(app)
    browser = app.test_client()
    for _ in range(10):
        hosting.sign_in(browser, person, password="wrong")
    answer = hosting.sign_in(browser, person, password="wrong")
    assert answer.status_code == 429
    assert 350 < int(answer.headers["Retry-After"]) <= 360
    assert "Please wait 6 minutes" in answer.text
    assert answer.headers["Cache-Control"] == "no-store"


def test_an_address_that_fails_too_often_is_stopped_for_every_account(database_url: str) -> None:
    """One password for many accounts is guessing as well."""
    app = hosting.make_host(database_url, IDSYNC_ADDRESS_LIMIT="4 per hour")
    try:
        person = hosting.add_person(app)
        browser = app.test_client()
        people = [hosting.Person("", "", f"{index}@example.org", "x") for index in range(5)]
        answers = [hosting.sign_in(browser, one).status_code for one in people]
        assert answers == [422, 422, 422, 422, 429]
        assert hosting.sign_in(browser, person).status_code == 429
    finally:
        hosting.close_host(app)


def test_guessing_at_the_second_steps_of_many_is_stopped_by_address(database_url: str) -> None:
    """Whoever has bought the passwords of many people has five codes of each, but one address."""
    app = hosting.make_host(database_url, IDSYNC_ADDRESS_LIMIT="4 per hour")
    try:
        victims = []
        for number in range(3):
            person = hosting.add_person(app, "Ada", f"{number}@example.org", "correct horse")
            hosting.sign_in(own := app.test_client(), person)
            hosting.set_up_app(own)
            victims.append(thief := app.test_client())
            hosting.sign_in(thief, person)
        codes = [{"code": "000000"}, {"code": "000001"}]
        answers = [
            hosting.submit(thief, "/sign-in/second-factor", code).status_code
            for thief in victims
            for code in codes
        ]
        assert answers == [422, 422, 422, 422, 429, 429]
    finally:
        hosting.close_host(app)


def test_wrong_phone_codes_stop_at_the_limit_of_an_address(database_url: str) -> None:
    """Each number allows five entries, and a guesser knows many numbers."""
    app = hosting.make_host(database_url, IDSYNC_ADDRESS_LIMIT="4 per hour")
    try:
        answers = []
        for number in range(2):
            browser = app.test_client()
            hosting.submit(browser, "/sign-in/phone", {"phone": f"+4930123456{number}"})
            for _ in range(3):
                answer = hosting.submit(browser, "/sign-in/phone/code", {"code": "x"})
                answers.append(answer.status_code)
        assert answers == [422, 422, 422, 422, 429, 429]
    finally:
        hosting.close_host(app)


def test_right_passwords_do_not_count_against_an_address(database_url: str) -> None:
    """A school signs in through one address."""
    app = hosting.make_host(database_url, IDSYNC_ADDRESS_LIMIT="2 per hour")
    try:
        person = hosting.add_person(app)
        for _ in range(5):
            assert hosting.sign_in(app.test_client(), person).status_code == 303
    finally:
        hosting.close_host(app)


def test_neighbours_keep_nobody_out_who_signed_in_here_before(database_url: str) -> None:
    """A school is one address; a browser that the account knows has tries of its own."""
    app = hosting.make_host(database_url, IDSYNC_ADDRESS_LIMIT="2 per hour")
    try:
        person = hosting.add_person(
            app, "Ada", "ada@example.org", "correct horse", "--phone", "+493012345"
        )
        own, neighbour = app.test_client(), app.test_client()
        hosting.sign_in(own, person)
        made = hosting.set_up_app(own)
        hosting.submit(own, "/", {}, post_to="/sign-out")
        for _ in range(3):
            hosting.sign_in(neighbour, person, password="wrong")
        assert hosting.sign_in(neighbour, person).status_code == 429
        hosting.sign_in(own, person)
        answer = hosting.submit(own, "/sign-in/second-factor", {"code": made.code()})
        assert answer.status_code == 303
    finally:
        hosting.close_host(app)


def test_asking_for_codes_is_no_failed_try(database_url: str) -> None:
    app = hosting.make_host(database_url, IDSYNC_ADDRESS_LIMIT="2 per hour")
    try:
        person = hosting.add_person(app)
        for number in range(3):
            answer = hosting.submit(
                app.test_client(), "/sign-in/phone", {"phone": f"+49301234567{number}"}
            )
        assert answer.status_code == 429
        assert hosting.sign_in(app.test_client(), person).status_code == 303
    finally:
        hosting.close_host(app)


def test_no_secret_stands_in_a_repr(app: Flask) -> None:
    """Reprs end up in logs and error reports."""
    settings = replace(
        identity_settings(app),
        limits_storage="redis://:hunter2@localhost",
        phone_sender="https://user:hunter2@gateway.example",
        phone_gateway_token="hunter2",
    )
    made = (NewApp("hunter2", "otpauth://hunter2"), FirstStep("a", b"hunter2", (), 0))
    assert "hunter2" not in repr((settings, *made))


def identity_settings(app: Flask) -> Settings:
    with app.app_context():
        return identity.settings


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
    ],
)
def test_what_counts_as_one_address(app: Flask, first: str, second: str, same: bool) -> None:
    """The /64 of an IPv6 address: one subscriber has all of it."""
    limit = AddressLimit("memory://", "1 per hour", "tries")
    with app.test_request_context(environ_base={"REMOTE_ADDR": first}):
        limit.count()
    with app.test_request_context(environ_base={"REMOTE_ADDR": second}):
        if same:
            with pytest.raises(TooManyTries):
                limit.check()
        else:
            limit.check()


def test_redis_counts_for_all_processes(app: Flask) -> None:
    """Two limits on one Redis are one."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", 6379)) != 0:
            pytest.skip("no Redis answers at 127.0.0.1:6379")
    purpose = f"tries {secrets.token_hex()}"  # others may test on the same Redis
    redis = ("redis://127.0.0.1:6379/9", "2 per minute", purpose)
    one, other = AddressLimit(*redis), AddressLimit(*redis)
    with app.test_request_context(environ_base={"REMOTE_ADDR": "198.51.100.77"}):
        one.check()
        one.count()
        other.check()
        other.count()
        with pytest.raises(TooManyTries) as refused:
            one.check()
        assert 1 <= refused.value.retry_after <= 60


def test_a_redis_that_is_away_stops_nobody_and_is_logged(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """This process counts alone meanwhile: the limit still holds."""
    app = hosting.make_host(
        database_url,
        IDSYNC_LIMITS_STORAGE="redis://127.0.0.1:1",
        IDSYNC_ADDRESS_LIMIT="3 per hour",
    )
    try:
        person = hosting.add_person(app)
        browser = app.test_client()
        with caplog.at_level(logging.WARNING):
            assert hosting.sign_in(browser, person).status_code == 303
        assert "IDSYNC_LIMITS_STORAGE does not answer" in caplog.text
        answers = [
            hosting.sign_in(app.test_client(), person, password="wrong").status_code
            for _ in range(4)
        ]
        assert answers == [422, 422, 422, 429]
        assert caplog.text.count("does not answer") == 1  # it is left alone for a while
    finally:
        hosting.close_host(app)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("ADDRESS_LIMIT", "often"),
        ("LIMITS_STORAGE", "carrier-pigeon://"),
        ("ACCOUNT_TRIES", 0),
        ("SECOND_FACTOR_TRY_SECONDS", 0),
        ("PHONE_REGION", "de"),
        ("PHONE_SENDER", "gopher://example.org"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(setting: str, value: object, tmp_path: object) -> None:
    config = hosting.configuration(
        f"sqlite:///{tmp_path}/x.sqlite3", **{f"IDSYNC_{setting}": value}
    )
    with pytest.raises(ConfigurationError, match=f"IDSYNC_{setting}"), hosting.host(config):
        pass


def test_prune_forgets_counts_that_are_over(
    app: Flask, ada: User, limit: TryLimit, tables: SignInTables, clock: Clock
) -> None:
    limit.take("old")
    clock.forward(120)
    limit.take("new")
    hosting.run(app, "idsync", "prune")
    assert db.session.scalar(select(func.count()).select_from(tables.tries)) == 1
    assert use_up(limit, "new") == 2
