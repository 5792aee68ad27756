"""Refresh tokens in races between processes: never two successors, and what has ended has ended."""

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from sqlalchemy import text

import hosting
from host_app.models import db
from races import token_deeds
from races.crew import Crew

RETRY_SECONDS = 30
LONGEST_PAUSE = 0.006
"""Seconds, about what the deeds take: each comes first in a good part of the rounds."""

ENDS = ("revoke", "disable", "password")


@pytest.fixture
def settings(database_url: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """One configuration for every process; a test may choose the retry window."""
    seconds = getattr(request, "param", 0)
    return hosting.configuration(database_url, IDSYNC_REFRESH_RETRY_SECONDS=seconds)


class Scene:
    """A person, an application, a browser, and what they do between the races."""

    def __init__(self, host: Flask) -> None:
        self._host = host
        self.person = hosting.add_person(host)
        self.application = hosting.register_application(host, "Ours", "--first-party")
        self._programs = host.test_client(use_cookies=False)
        self._rounds = 0
        self.sign_in(self.person.password)

    def sign_in(self, password: str) -> None:
        self._browser = self._host.test_client()
        assert hosting.sign_in(self._browser, self.person, password=password).status_code == 303

    def code(self) -> str:
        back = self._browser.get(hosting.authorize_path(self.application)).headers["Location"]
        return parse_qs(urlsplit(back).query)["code"][0]

    def tokens(self) -> Any:
        status, tokens = self.post(*self.redeeming(self.code()))
        assert status == 200
        return tokens

    def redeeming(self, code: str) -> tuple[str, dict[str, str], tuple[str, str]]:
        form = {"redirect_uri": self.application.redirect_uri, "code": code}
        return "/oauth/token", {"grant_type": "authorization_code", **form}, self.application.basic

    def refreshing(self, tokens: Any) -> tuple[str, dict[str, str], tuple[str, str]]:
        form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
        return "/oauth/token", form, self.application.basic

    def post(self, path: str, form: dict[str, str], auth: tuple[str, str]) -> tuple[int, Any]:
        response = self._programs.post(path, data=form, auth=auth)
        return response.status_code, response.json

    def userinfo(self, tokens: Any) -> int:
        bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
        return self._programs.get("/oauth/userinfo", headers=bearer).status_code

    def assert_dead(self, *answers: Any) -> None:
        """No token of these answers works; the newest come last and are tried first."""
        assert [self.userinfo(tokens) for tokens in answers] == [401] * len(answers)
        for tokens in reversed(answers):
            status, answer = self.post(*self.refreshing(tokens))
            assert (status, answer["error"]) == (400, "invalid_grant")

    def counted(self) -> tuple[int, ...]:
        """How many grants there are, and how many of them are revoked."""
        with self._host.app_context():
            statement = text("SELECT count(*), count(revoked_at) FROM idsync_grant")
            return tuple(db.session.execute(statement).one())


def present_at_once(host: Flask, crew: Crew, rounds: int) -> None:
    scene = Scene(host)
    for _ in range(rounds):
        tokens = scene.tokens()
        answers = crew.together(
            token_deeds.act, *[(0, "post", *scene.refreshing(tokens))] * crew.size
        )
        (successor,) = (answer for status, answer in answers if status == 200)
        refused = [(status, answer["error"]) for status, answer in answers if status != 200]
        assert refused == [(400, "invalid_grant")] * (crew.size - 1)
        scene.assert_dead(tokens, successor)
    assert scene.counted() == (rounds, rounds)


def end_meanwhile(host: Flask, crew: Crew, rounds: int) -> Counter[tuple[str, str, bool]]:
    """Race a request for tokens with what ends them; how often each pair ended in tokens."""
    scene, random, outcomes = Scene(host), Random(4), Counter[tuple[str, str, bool]]()  # noqa: S311
    password = scene.person.password
    for number in range(rounds):
        for end in ENDS:
            for request in ("refresh", "redeem"):
                if request == "refresh":
                    before = [scene.tokens()]
                    asking = scene.refreshing(before[0])
                    token = before[0][random.choice(("access_token", "refresh_token"))]
                elif end == "revoke":
                    continue  # there is no token yet
                else:
                    before, asking = [], scene.redeeming(scene.code())
                deed: tuple[Any, ...]
                if end == "revoke":
                    deed = ("post", "/oauth/revoke", {"token": token}, ("", ""))
                elif end == "disable":
                    deed = ("change", scene.person.id, {"disabled": True})
                else:
                    password = f"{request} {number}"
                    deed = ("change", scene.person.id, {"password": password})
                (status, answer), _ = crew.together(
                    token_deeds.act,
                    (random.uniform(0, LONGEST_PAUSE), "post", *asking),
                    (random.uniform(0, LONGEST_PAUSE), *deed),
                )
                assert status == 200 or (status, answer["error"]) == (400, "invalid_grant")
                scene.assert_dead(*before, *([answer] if status == 200 else []))
                outcomes[request, end, status == 200] += 1
                if end == "disable":
                    with host.app_context():
                        token_deeds.change(host, scene.person.id, {"disabled": False})
                    scene.assert_dead(*before, *([answer] if status == 200 else []))
                if end != "revoke":
                    scene.sign_in(password)
    return outcomes


# --- in the tests ---------------------------------------------------------------------------------


def test_a_refresh_token_presented_several_times_at_once_has_one_successor(
    host: Flask, crew: Callable[[int], Crew]
) -> None:
    """All others are replays: afterwards the grant is revoked and its tokens are dead."""
    present_at_once(host, crew(4), 8)


@pytest.mark.parametrize("settings", [RETRY_SECONDS], indirect=True)
def test_within_the_retry_window_all_get_the_same_successor(
    host: Flask, crew: Callable[[int], Crew]
) -> None:
    """Two processes of an application may refresh at the same time; one successor lives."""
    scene, members = Scene(host), crew(4)
    for _ in range(8):
        tokens = scene.tokens()
        answers = members.together(
            token_deeds.act, *[(0, "post", *scene.refreshing(tokens))] * members.size
        )
        assert [status for status, _ in answers] == [200] * members.size
        (successor,) = {answer["refresh_token"] for _, answer in answers}
        assert all(scene.userinfo(answer) == 200 for _, answer in answers)
        assert scene.post(*scene.refreshing({"refresh_token": successor}))[0] == 200
    assert scene.counted() == (8, 0)


def test_nothing_lives_after_a_race_with_what_ends_it(
    host: Flask, crew: Callable[[int], Crew]
) -> None:
    """Refresh and redeem against revoke, disable and a new password."""
    end_meanwhile(host, crew(2), 4)


# --- for long -------------------------------------------------------------------------------------


@pytest.mark.proof
def test_a_refresh_token_presented_eight_times_at_once_300_times(
    host: Flask, crew: Callable[[int], Crew]
) -> None:
    """The same, 300 rounds on each database."""
    present_at_once(host, crew(8), 300)


@pytest.mark.proof
def test_nothing_lives_after_300_races_of_each_kind(
    host: Flask, crew: Callable[[int], Crew]
) -> None:
    """The same for long; each side of each pair has come first."""
    outcomes = end_meanwhile(host, crew(2), 300)
    print(*sorted(outcomes.items()), sep="\n")
    assert len(outcomes) == 2 * (len(ENDS) + 2)
