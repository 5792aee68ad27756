"""Single use means single use, with two processes on one database."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from sqlalchemy import text

import hosting
from host_app.models import db
from races import token_deeds
from races.crew import Crew


def race_for_codes(host: Flask, pair: Crew, rounds: int) -> None:
    person = hosting.add_person(host)
    application = hosting.register_application(host, "Ours", "--first-party")
    browser = host.test_client()
    hosting.sign_in(browser, person)
    for _ in range(rounds):
        back = browser.get(hosting.authorize_path(application)).headers["Location"]
        form = {
            "grant_type": "authorization_code",
            "code": parse_qs(urlsplit(back).query)["code"][0],
            "redirect_uri": application.redirect_uri,
        }
        answers = pair.together(
            token_deeds.post, *[("/oauth/token", form, application.basic)] * pair.size
        )
        assert sorted(status for status, _ in answers) == [200, 400], answers
        assert [body["error"] for status, body in answers if status == 400] == ["invalid_grant"]
    with host.app_context():
        counted = db.session.execute(
            text("SELECT count(*), count(redeemed_at), count(revoked_at) FROM idsync_grant")
        ).one()
    assert tuple(counted) == (rounds, rounds, rounds)


def test_one_of_two_processes_redeems_a_code(host: Flask, crew: Callable[[int], Crew]) -> None:
    """And the other's attempt, a replay, has revoked the grant."""
    race_for_codes(host, crew(2), 20)


@pytest.mark.proof
def test_one_of_two_processes_redeems_a_code_500_times(
    host: Flask, crew: Callable[[int], Crew]
) -> None:
    """The same, 500 rounds on each database."""
    race_for_codes(host, crew(2), 500)
