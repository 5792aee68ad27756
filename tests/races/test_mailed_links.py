"""A link for a new password works once, with processes on one database."""

import re
from collections.abc import Callable

import pytest
from flask import Flask

import hosting
from idsync.extension import EXTENSION
from races import sign_in_deeds
from races.crew import Crew
from receiver import wait_until

Crews = Callable[[int], Crew]


def race_for_links(host: Flask, crew: Crew, rounds: int) -> None:
    mails: list[str] = []
    host.extensions[EXTENSION].sign_in.email._send_mail = lambda *mail: mails.append(mail[2])
    for round_ in range(rounds):
        person = hosting.add_person(host, "Ada", f"ada{round_}@example.org")
        browser = host.test_client()
        mails.clear()
        hosting.submit(browser, "/sign-in/forgotten", {"email": person.email})
        wait_until(lambda: bool(mails))
        link = re.search(r"/new-password/(\S+)", mails[0])
        assert link is not None
        passwords = [f"chosen by process {number}" for number in range(crew.size)]
        chosen = crew.together(
            sign_in_deeds.choose_password, *((link[1], password) for password in passwords)
        )
        assert sorted(chosen) == [False] * (crew.size - 1) + [True]
        winner = passwords[chosen.index(True)]
        assert hosting.sign_in(host.test_client(), person, password=winner).status_code == 303


def test_a_link_used_at_once_works_once(host: Flask, crew: Crews) -> None:
    """Of two processes one changes the password, and its password is the one that counts."""
    race_for_links(host, crew(2), 5)


@pytest.mark.proof
def test_a_link_used_at_once_works_once_100_times(host: Flask, crew: Crews) -> None:
    """The same with four."""
    race_for_links(host, crew(4), 100)
