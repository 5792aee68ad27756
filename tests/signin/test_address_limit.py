"""The limit of one address: failed tries at every account, in memory or on Redis."""

import logging
import secrets
import socket

import pytest
from flask import Flask

import hosting
from idsync import TooManyTries
from idsync.signin.limits import AddressLimit


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
