"""The limit of one account, and the tries that a browser it knows has of its own."""

import pytest
from flask import Flask

import hosting
from host_app.models import User, db, identity
from idsync import TooManyTries
from signin.conftest import Clock

VISITOR = {"REMOTE_ADDR": "192.0.2.1"}


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
