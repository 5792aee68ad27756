"""One browser, several sign-ins: what applications got belongs to the visit, not to one session."""

import time
from typing import Any
from unittest import mock
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient

import hosting

DAY = 24 * 3600


class Visit:
    """A person's browser, an application without consent, and its grants."""

    def __init__(self, app: Flask, client: FlaskClient) -> None:
        self.app, self.browser = app, client
        self.ada = hosting.add_person(app)
        self.grace = hosting.add_person(app, "Grace Hopper", "grace@example.org")
        self.application = hosting.register_application(app, "Ours", "--first-party")
        self.sign_in(self.ada)

    def sign_in(self, person: hosting.Person) -> None:
        answer = hosting.sign_in(self.browser, person, address="/sign-in?next=/")
        assert answer.status_code == 303

    def ask_again(self) -> None:
        """An application wants a new sign-in: the browser stands before the sign-in page."""
        path = hosting.authorize_path(self.application, prompt="login")
        page = hosting.follow(self.browser, self.browser.get(path))
        assert 'name="password"' in page.text

    def connect(self, scope: str) -> Any:
        path = hosting.authorize_path(self.application, scope=scope)
        back = self.browser.get(path).headers["Location"]
        form = {
            "grant_type": "authorization_code",
            "code": parse_qs(urlsplit(back).query)["code"][0],
            "redirect_uri": self.application.redirect_uri,
        }
        return self.browser.post("/oauth/token", data=form, auth=self.application.basic).json

    def works(self, tokens: Any) -> bool:
        bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
        return self.browser.get("/oauth/userinfo", headers=bearer).status_code == 200

    def refreshes(self, tokens: Any) -> bool:
        form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
        answer = self.browser.post("/oauth/token", data=form, auth=self.application.basic)
        return answer.status_code == 200


@pytest.fixture
def visit(app: Flask, client: FlaskClient) -> Visit:
    return Visit(app, client)


@pytest.mark.parametrize("asked", [True, False])
def test_signing_in_again_changes_nothing(visit: Visit, asked: bool) -> None:
    """Whether an application asked for it, or the person came to the sign-in page by themselves."""
    online, offline = visit.connect("openid"), visit.connect("openid offline_access")
    if asked:
        visit.ask_again()
    visit.sign_in(visit.ada)
    assert visit.works(online)
    assert visit.refreshes(offline)


@pytest.mark.parametrize("asked", [True, False])
def test_signing_out_ends_what_came_before_signing_in_again(visit: Visit, asked: bool) -> None:
    """Access of every session of the visit; offline_access stays."""
    online, offline = visit.connect("openid"), visit.connect("openid offline_access")
    if asked:
        visit.ask_again()
    visit.sign_in(visit.ada)
    visit.browser.get("/logout")
    assert not visit.works(online)
    assert visit.refreshes(offline)


def test_signing_out_instead_of_signing_in_again(visit: Visit) -> None:
    """At the sign-in page that an application asked for, the person chooses to leave."""
    online = visit.connect("openid")
    visit.ask_again()
    assert visit.works(online)
    visit.browser.get("/logout")
    assert not visit.works(online)


def test_somebody_else_ends_all_of_the_visit(visit: Visit) -> None:
    """Grants from before the person signed in again are the earlier person's too."""
    offline = visit.connect("openid offline_access")
    visit.ask_again()
    visit.sign_in(visit.ada)
    visit.sign_in(visit.grace)
    assert not visit.works(offline)
    assert not visit.refreshes(offline)


def test_the_same_person_after_their_session_was_pruned(visit: Visit) -> None:
    """Days before the sign-in page, and prune in between: still nobody else."""
    offline = visit.connect("openid offline_access")
    visit.ask_again()
    with mock.patch("time.time", return_value=time.time() + 2 * DAY):
        assert hosting.run(visit.app, "idsync", "prune").startswith("1 rows")
        visit.sign_in(visit.ada)
        assert visit.refreshes(offline)
