"""Workers killed in the middle of refreshing: an answered token is kept, and none works twice.

The host runs under gunicorn with two workers. An application refreshes several grants in turn, each
request on a connection of its own, while workers are killed with SIGKILL at random moments.
"""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from sqlalchemy import text

import hosting
from host_app.models import db
from live import PATIENCE, LiveHost, authorize, live_database, live_host

GRANTS = 5
LONGEST_DELAY = 0.012
"""Seconds from sending a request to the kill: about as long as a refresh takes under load."""


@dataclass
class Holding:
    """A refresh token that was answered, and how often the grant was surely refreshed."""

    token: str
    refreshed: int = 0


class Killer:
    """Kills workers of one gunicorn, by their own process ids."""

    def __init__(self, master: int, random: Random) -> None:
        self._children = Path(f"/proc/{master}/task/{master}/children")
        self._random = random
        self.killed = 0

    def strike(self) -> threading.Timer:
        """Kill one of the workers in a moment."""
        timer = threading.Timer(self._random.uniform(0, LONGEST_DELAY), self._kill)
        timer.start()
        return timer

    def _kill(self) -> None:
        while not self._killed_one():
            time.sleep(0.001)
        self.killed += 1

    def _killed_one(self) -> bool:
        """False where both died just now, or the one that was chosen did."""
        workers = self._children.read_text().split()
        try:
            os.kill(int(self._random.choice(workers)), signal.SIGKILL)
        except (IndexError, ProcessLookupError):
            return False
        return True


class Application:
    """What an application does, and what it saw."""

    def __init__(self, host: LiveHost) -> None:
        self._url = host.url
        self._person = hosting.add_person(host.app)
        self._client = hosting.register_application(host.app, "Ours", "--first-party")
        self._browser = requests.Session()
        # Kept ones would die with their worker.
        self._browser.headers["Connection"] = "close"
        self.saw: Counter[str] = Counter()

    def connect(self) -> Holding:
        address = self._url + hosting.authorize_path(self._client)
        back = authorize(self._browser, address, self._person)
        form = {
            "grant_type": "authorization_code",
            "code": parse_qs(urlsplit(back).query)["code"][0],
            "redirect_uri": self._client.redirect_uri,
        }
        return Holding(self._ask(form).json()["refresh_token"])

    def present(self, token: str) -> requests.Response | None:
        """The answer; None where the connection died without one."""
        try:
            return self._ask({"grant_type": "refresh_token", "refresh_token": token})
        except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError):
            return None

    def refresh(self, holding: Holding) -> bool:
        """Refresh, trying again as applications do; False where that ended the grant."""
        asked = 1
        while (answer := self.present(holding.token)) is None:
            self.saw["no answer"] += 1
            asked += 1
        if answer.status_code == 200:
            self.saw["answered" if asked == 1 else "answered when asked again"] += 1
            holding.token = answer.json()["refresh_token"]
            holding.refreshed += 1
            return True
        # Only a token whose first answer was lost may be refused.
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant"), answer.text
        assert asked > 1, "an answered token was lost"
        self.saw["refused when asked again"] += 1
        return False

    def close(self) -> None:
        self._browser.close()

    def _ask(self, form: dict[str, str]) -> requests.Response:
        return requests.post(
            self._url + "/oauth/token", data=form, auth=self._client.basic, timeout=PATIENCE
        )


def generations(host: LiveHost) -> list[int]:
    with host.app.app_context():
        statement = text("SELECT generation FROM idsync_grant WHERE redeemed_at IS NOT NULL")
        return sorted(db.session.scalars(statement))


def refresh_while_workers_die(
    host: LiveHost, refreshes: int, kills: int, *, repeats: bool = False
) -> Counter[str]:
    """How often what was seen. repeats: the host answers again within a retry window."""
    random = Random(9)  # noqa: S311
    application, killer = Application(host), Killer(host.pid, random)
    moments = set(random.sample(range(refreshes), kills))
    holdings, ended = [application.connect() for _ in range(GRANTS)], []
    for number in range(refreshes):
        strike = killer.strike() if number in moments else None
        index = number % GRANTS
        if not application.refresh(holdings[index]):
            ended.append(holdings[index])
            holdings[index] = application.connect()
        if strike is not None:
            strike.join()
    # What was refused when it came again had been replaced the first time, once.
    counted = [one.refreshed + 1 for one in ended] + [one.refreshed for one in holdings]
    assert generations(host) == sorted(counted)
    for holding in holdings:
        first, second = application.present(holding.token), application.present(holding.token)
        assert first is not None
        assert second is not None
        assert first.status_code == 200
        assert second.status_code == (200 if repeats else 400)
        if repeats:
            assert first.json()["refresh_token"] == second.json()["refresh_token"]
    assert killer.killed == kills
    application.close()
    return application.saw


@pytest.fixture
def host(
    database_server: str | None, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[LiveHost]:
    """The running host; a test may choose the retry window, in seconds."""
    seconds = getattr(request, "param", 0)
    with (
        live_database(database_server, tmp_path) as url,
        live_host(url, tmp_path, IDSYNC_REFRESH_RETRY_SECONDS=seconds) as host,
    ):
        yield host


def test_an_answered_token_outlives_the_worker(host: LiveHost) -> None:
    """A killed worker loses answers, never tokens that were answered."""
    saw = refresh_while_workers_die(host, 40, 4)
    assert saw["answered"] >= 36


@pytest.mark.proof
def test_an_answered_token_outlives_the_worker_1000_times(host: LiveHost) -> None:
    """The same for long. An application whose answer was lost asks again: then the grant goes on,
    or, where the token had been replaced already, ends like by a replay.
    """
    saw = refresh_while_workers_die(host, 1000, 60)
    print(saw)
    assert saw["no answer"] > 0


@pytest.mark.proof
@pytest.mark.parametrize("host", [60], indirect=True)
def test_with_a_retry_window_no_grant_ends_1000_times(host: LiveHost) -> None:
    """A lost answer is given again."""
    saw = refresh_while_workers_die(host, 1000, 60, repeats=True)
    print(saw)
    assert saw["no answer"] > 0
    assert saw["refused when asked again"] == 0
