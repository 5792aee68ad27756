"""What a guesser gets who tries all the time; the figures stand in docs/security.md."""

import re
from collections.abc import Callable
from pathlib import Path

from flask import Flask

from host_app.models import User, identity
from idsync import TooManyTries
from idsync.signin.assembly import SEND_SECONDS, SENDS, SignIn
from idsync.signin.limits import AddressLimit
from signin.conftest import Clock

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
HOUR, DAY = 3600, 24 * 3600


def figures(name: str) -> tuple[int, int, int]:
    """Tries at once, in the first hour and in a day, as the page has them."""
    row = re.search(rf"^\| {name}.*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert row, name
    _, _, at_once, _, hour, day, _ = (cell.strip() for cell in row[0].split("|"))
    return tuple(int(cell.replace(",", "")) for cell in (at_once, hour, day))


def guess(clock: Clock, attempt: Callable[[], object]) -> tuple[int, int, int]:
    """Try whenever a try is possible; how many there were at once, in an hour and in a day."""
    begun, times = clock.now, []
    while clock.now - begun < DAY:
        try:
            attempt()
            times.append(clock.now - begun)
        except TooManyTries as wait:
            clock.forward(wait.retry_after)
    return times.count(0), sum(time < HOUR for time in times), len(times)


def test_passwords_of_one_account(app: Flask, ada: User, clock: Clock, parts: SignIn) -> None:
    parts.password._addresses._limit = AddressLimit("memory://", "1000000 per second", "")._limit
    with app.test_request_context():
        got = guess(clock, lambda: identity.check_password(ada, "wrong"))
    assert got == figures("passwords of one account")


def test_second_factor_codes(app: Flask, ada: User, clock: Clock, parts: SignIn) -> None:
    assert guess(clock, lambda: parts.factors._tries.take("ada")) == figures("second-factor codes")


def test_failed_tries_from_one_address(app: Flask, clock: Clock, parts: SignIn) -> None:
    addresses = parts.password._addresses

    def attempt() -> None:
        addresses.check()
        addresses.count()

    with app.test_request_context():
        at_once, hour, day = guess(clock, attempt)
    assert (at_once, hour, day) == figures("failed tries from one address")


def test_codes_sent_to_one_number(app: Flask, clock: Clock, parts: SignIn) -> None:
    sends = parts.phone._codes._sends
    assert guess(clock, lambda: sends.take("+49301234567")) == figures("codes sent to one phone")
    assert (SENDS, SEND_SECONDS) == (5, 720)
