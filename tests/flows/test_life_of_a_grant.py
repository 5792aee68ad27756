"""The life of grants as a state machine: whatever people, applications and time do, in any order.

The reference host runs on a real database and is only called over WSGI, or as a command would; what
it answers is compared with `grant_model`, where the rules are written down in the plainest way.
"""

import base64
import hashlib
import json
import time
from typing import Any
from unittest import mock
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import text

import hosting
from flows.grant_model import (
    ACCESS_TOKEN_LIFETIME,
    AccessToken,
    Account,
    Application,
    Browser,
    Grant,
)
from host_app.models import db, identity
from idsync.accounts.change import Change
from idsync.audit.events import COMMAND

TAG = "wiki"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode()[:43]
MOST_GRANTS = 8
MINUTE, DAY = 60, 24 * 3600
STEPS_OF_TIME = (1, 1, 9, 10, MINUTE, MINUTE, 11 * MINUTE, 61 * MINUTE, 2 * DAY, 31 * DAY)


class World:
    """The host, two people and two applications, which every example finds as they were made."""

    def __init__(self, database_url: str, retry_seconds: int) -> None:
        self.retry_seconds = retry_seconds
        self.app = hosting.make_host(
            database_url,
            IDSYNC_REFRESH_RETRY_SECONDS=retry_seconds,
            IDSYNC_PBKDF2_ITERATIONS=1,
            IDSYNC_PBKDF2_MIN_ITERATIONS=1,
            PERMANENT_SESSION_LIFETIME=1000 * DAY,  # Flask's cookie: its age is not our subject
        )
        self.people = [
            hosting.add_person(self.app, name, f"{name}@example.org", "first", "--tag", TAG)
            for name in ("ada", "bob")
        ]
        self.clients = [
            hosting.register_application(self.app, "Ours", "--first-party"),
            hosting.register_application(
                self.app, "Wiki", "--first-party", "--service-tag", TAG, "--id-token-alg", "ES256"
            ),
        ]
        self.parts = self.app.extensions["idsync"]
        with self.app.app_context():
            self.parts.signing_keys.published()
            self._accounts = db.session.execute(
                text("SELECT subject, password, epoch FROM idsync_account")
            ).all()
        self.now = self.beginning = int(time.time()) + 1

    def clock(self) -> int:
        return self.now

    def restore(self) -> None:
        """Everything as it was at the beginning."""
        self.now = self.beginning
        with self.app.app_context():
            for table in ("grant", "session", "event"):
                db.session.execute(text(f"DELETE FROM idsync_{table}"))  # noqa: S608
            db.session.execute(text("UPDATE idsync_application SET active = true"))
            for subject, password, epoch in self._accounts:
                db.session.execute(
                    text(
                        "UPDATE idsync_account SET disabled_by = NULL, tags = :tags,"
                        " epoch = :epoch, password = :password WHERE subject = :subject"
                    ),
                    {
                        "tags": json.dumps([TAG]),
                        "epoch": epoch,
                        "password": password,
                        "subject": subject,
                    },
                )
            db.session.commit()

    def change(self, person: int, **changes: Any) -> None:
        with self.app.app_context():
            identity.directory.change(self.people[person].id, Change(**changes), actor=COMMAND)
            db.session.commit()


numbers = st.integers(0, 1)  # of a person or an application
mostly = st.sampled_from([True, True, False])


def one_can_be_spared(machine: "LifeOfGrants") -> bool:
    """Without this most lives would soon be without a living grant, and find little."""
    return sum(grant.lives() for grant in machine.all) > 1


class LifeOfGrants(RuleBasedStateMachine):
    """One browser, two people, two applications; up to eight grants."""

    codes = Bundle("codes")
    grants = Bundle("grants")

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        world.restore()
        self.client = world.app.test_client()
        self.programs = world.app.test_client(use_cookies=False)
        self.accounts = [Account("first"), Account("first")]
        self.applications = [Application(needs_tag=False), Application(needs_tag=True)]
        self.browser = Browser()
        self.all: list[Grant] = []
        self.passwords = 0

    # --- the browser ---------------------------------------------------------------------------

    @initialize(target=grants)
    def begin_with_three_grants(self) -> Any:
        return multiple(self.connect(0, True), self.connect(1, True), self.connect(0, False))

    @rule(person=numbers)
    def sign_in(self, person: int) -> None:
        account = self.accounts[person]
        response = hosting.sign_in(
            self.client,
            self.world.people[person],
            password=account.password,
            address="/sign-in?next=/",
        )
        assert response.status_code == (303 if account.enabled else 422)
        if account.enabled:
            self.browser.sign_in(account, self.world.now)

    @rule(how=st.sampled_from(["sign out", "asked to sign in again"]))
    def leave(self, how: str) -> None:
        if how == "sign out":
            assert self.client.get("/logout").status_code == 303
            self.browser.sign_out()
        elif self.applications[0].active:
            address = hosting.authorize_path(self.world.clients[0], prompt="login")
            response = self.client.get(self.client.get(address).headers["Location"])
            assert response.headers["Location"].startswith("/sign-in?next=")
            self.browser.ask_again()

    @precondition(lambda self: len(self.all) < MOST_GRANTS)
    @rule(target=codes, number=numbers, offline=mostly)
    def authorize(self, number: int, offline: bool) -> Any:
        application, client = self.applications[number], self.world.clients[number]
        session = self.browser.session
        scope = "openid email offline_access" if offline else "openid email"
        address = hosting.authorize_path(
            client, scope=scope, code_challenge=CHALLENGE, nonce=f"nonce {len(self.all)}"
        )
        response = self.client.get(address)
        location = urlsplit(response.headers.get("Location", ""))
        query = parse_qs(location.query)
        if not application.active:
            assert response.status_code == 400
        elif session is None or not session.lives(self.world.now):
            assert (response.status_code, location.path) == (303, "/oauth/authorize")
        elif not application.admits(session.account):
            assert query["error"] == ["access_denied"]
        else:
            grant = Grant(
                application=application,
                account=session.account,
                scopes=frozenset(scope.split()),
                code=query["code"][0],
                issued=self.world.now,
                auth_time=session.begun,
            )
            assert self.browser.visit is not None
            self.browser.visit.grants.append(grant)
            self.all.append(grant)
            return grant
        assert "code" not in query
        return multiple()

    # --- the applications ----------------------------------------------------------------------

    @precondition(lambda self: len(self.all) < MOST_GRANTS)
    @rule(target=grants, number=numbers, offline=mostly)
    def connect(self, number: int, offline: bool) -> Any:
        """Authorize, after signing in where nobody is, and redeem."""
        session = self.browser.session
        if session is None or not session.lives(self.world.now):
            self.sign_in(0)
        grant = self.authorize(number, offline)
        return self.redeem(grant) if isinstance(grant, Grant) else grant

    @rule(target=grants, grant=consumes(codes))
    def redeem(self, grant: Grant) -> Any:
        self.present_code(grant)
        return grant

    @rule(
        grant=st.one_of(codes, codes, grants),
        mistake=st.sampled_from(["verifier", "redirect_uri", "client"]),
    )
    def redeem_wrongly(self, grant: Grant, mistake: str) -> None:
        self.present_code(grant, mistake)

    @rule(grant=grants)
    def refresh(self, grant: Grant) -> None:
        self.present_refresh_token(grant)

    @rule(grant=grants, scope=st.sampled_from(["openid", "email profile"]))
    def refresh_with_scope(self, grant: Grant, scope: str) -> None:
        self.present_refresh_token(grant, scope=scope)

    @rule(grant=grants, age=st.integers(0, 1), mistake=st.sampled_from(["client", "forged"]))
    def refresh_wrongly(self, grant: Grant, age: int, mistake: str) -> None:
        self.present_refresh_token(grant, age=age, mistake=mistake)

    @rule()
    def carry_on(self) -> None:
        """Hypothesis prefers the rule without arguments; so it is the most ordinary thing."""
        for grant in self.all[-2:]:
            self.present_refresh_token(grant)

    @rule(days=st.sampled_from([1, 29]))
    def use_for_long(self, days: int) -> None:
        """All applications refresh in time, twice."""
        for _ in range(2):
            self.wait(days * DAY)
            for grant in self.all:
                self.present_refresh_token(grant)

    @precondition(one_can_be_spared)
    @rule(grant=grants, what=st.sampled_from(["code", 1, 2]))
    def present_again(self, grant: Grant, what: Any) -> None:
        """A code, or a refresh token so many generations old."""
        if what == "code":
            self.present_code(grant)
        else:
            self.present_refresh_token(grant, age=what)

    @precondition(one_can_be_spared)
    @rule(grant=grants, kind=st.sampled_from(["access", "refresh"]), age=st.integers(0, 1))
    def revoke(self, grant: Grant, kind: str, age: int) -> None:
        texts = [token.text for token in grant.access] if kind == "access" else grant.refresh
        if age >= len(texts):
            return
        response = self.programs.post("/oauth/revoke", data={"token": texts[-1 - age]})
        assert (response.status_code, response.json) == (200, {})
        if kind == "refresh" or self.world.now < grant.access[-1 - age].expires:
            grant.revoked = True

    # --- the administrator and the person ------------------------------------------------------

    @rule(person=numbers, what=st.sampled_from(["password", "enable", "disable"]))
    def change_account(self, person: int, what: str) -> None:
        account = self.accounts[person]
        if what == "password":
            self.passwords += 1
            account.password = f"password {self.passwords}"
            account.epoch += 1
            self.world.change(person, password=account.password)
        elif what == "enable":
            account.enabled = True
            self.world.change(person, disabled=False)
        else:
            account.disable()
            self.world.change(person, disabled=True)

    @rule(person=st.sampled_from([0, 0, 1]))
    def switch_tag(self, person: int) -> None:
        account = self.accounts[person]
        account.tagged = not account.tagged
        tags = {"tags_add" if account.tagged else "tags_remove": (TAG,)}
        self.world.change(person, **tags)

    @rule(number=numbers)
    def switch_application(self, number: int) -> None:
        application = self.applications[number]
        application.active = not application.active
        with self.world.app.app_context():
            client_id = self.world.clients[number].client_id
            self.world.parts.applications.edit(client_id, active=application.active)

    @precondition(one_can_be_spared)
    @rule(person=numbers, number=numbers)
    def disconnect(self, person: int, number: int) -> None:
        with self.world.app.app_context():
            user = identity.find_user(self.world.people[person].email)
            identity.disconnect(user, self.world.clients[number].client_id)
        for grant in self.all:
            if (grant.account, grant.application) == (
                self.accounts[person],
                self.applications[number],
            ):
                grant.revoked = True

    # --- time and mishaps ----------------------------------------------------------------------

    @rule(seconds=st.sampled_from(STEPS_OF_TIME), prune=st.booleans())
    def wait(self, seconds: int, prune: bool = False) -> None:
        """What is pruned answers like what has ended: it makes no difference in the model."""
        self.world.now += seconds
        if prune:
            with self.world.app.app_context():
                for _ in self.world.parts.pruning.run():
                    pass

    @rule(grant=grants)
    def lose_last_refresh(self, grant: Grant) -> None:
        if grant.generation == 0 or not grant.lives():
            return
        grant_id = self.world.parts.server.references.read_code(grant.code)
        with self.world.app.app_context():
            db.session.execute(
                text(
                    "UPDATE idsync_grant SET generation = generation - 1, refreshed_at = NULL"
                    " WHERE id = :id"
                ),
                {"id": grant_id},
            )
            db.session.commit()
        grant.lose_last_rotation()

    # --- what must hold ------------------------------------------------------------------------

    @invariant()
    def access_tokens_work_as_long_as_their_grant_lives(self) -> None:
        for grant in self.all:
            for token in grant.access[-2:]:
                headers = {"Authorization": f"Bearer {token.text}"}
                response = self.programs.get("/oauth/userinfo", headers=headers)
                works = grant.works(token, self.world.now)
                assert response.status_code == (200 if works else 401), grant
                assert not works or ("email" in response.json) == ("email" in token.scopes)

    def teardown(self) -> None:
        """What has ended stays ended, whatever is put right; the rest is ended in three ways."""
        for grant in self.all:
            self.present_refresh_token(grant)
            if not grant.redeemed:
                self.present_code(grant)
        for number in (0, 1):
            if not self.applications[number].active:
                self.switch_application(number)
            self.change_account(number, "enable")
            if not self.accounts[number].tagged:
                self.switch_tag(number)
        self.access_tokens_work_as_long_as_their_grant_lives()
        self.wait(61 * MINUTE)
        for number, grant in enumerate(self.all):
            self.revoke(grant, "access", 0)  # expired: it ends nothing
            self.present_refresh_token(grant)
            if number % 3 == 0:
                self.wait(self.world.retry_seconds)
                self.present_refresh_token(grant, age=1)
            elif number % 3 == 1:
                self.revoke(grant, "refresh", 1)
            else:
                self.present_code(grant)
            self.present_refresh_token(grant)
        self.access_tokens_work_as_long_as_their_grant_lives()

    # --- details -------------------------------------------------------------------------------

    def present_code(self, grant: Grant, mistake: str | None = None) -> None:
        form = {
            "grant_type": "authorization_code",
            "code": grant.code,
            "redirect_uri": hosting.REDIRECT_URI + ("/" if mistake == "redirect_uri" else ""),
            "code_verifier": VERIFIER + ("w" if mistake == "verifier" else ""),
        }
        answer = self.ask_for_tokens(grant, form, other_client=mistake == "client")
        if answer is not None:
            expected = mistake is None and grant.redeem(self.world.now)
            self.check_tokens(answer, expected, grant, 0, grant.scopes, first=True)

    def present_refresh_token(
        self, grant: Grant, age: int = 0, mistake: str | None = None, scope: str | None = None
    ) -> None:
        """Present the latest refresh token, or one that is `age` generations older."""
        generation = len(grant.refresh) - 1 - age
        if generation < 0:
            return
        token = grant.refresh[generation]
        if mistake == "forged":
            token = token[:-2] + ("A" if token[-2] != "A" else "B") + token[-1]
        form = {"grant_type": "refresh_token", "refresh_token": token, "scope": scope or ""}
        answer = self.ask_for_tokens(grant, form, other_client=mistake == "client")
        if answer is not None:
            now, seconds = self.world.now, self.world.retry_seconds
            expected = mistake is None and grant.rotate(generation, now, seconds)
            scopes = grant.scopes & {*scope.split(), "openid"} if scope else grant.scopes
            self.check_tokens(answer, expected, grant, generation + 1, scopes, first=False)

    def ask_for_tokens(self, grant: Grant, form: dict[str, str], *, other_client: bool) -> Any:
        """The answer; None where the asking application is switched off and was told so."""
        number = self.applications.index(grant.application) ^ other_client
        response = self.programs.post(
            "/oauth/token", data=form, auth=self.world.clients[number].basic
        )
        if self.applications[number].active:
            return response
        assert (response.status_code, response.json["error"]) == (401, "invalid_client")
        return None

    def check_tokens(
        self,
        response: Any,
        expected: bool,
        grant: Grant,
        generation: int,
        scopes: frozenset[str],
        *,
        first: bool,
    ) -> None:
        """Compare an answer of the token endpoint; keep its tokens in the model."""
        if not expected:
            assert response.status_code == 400, grant
            assert response.json["error"] == "invalid_grant"
            return
        assert response.status_code == 200, (response.json, grant)
        answer = response.json
        assert {*answer["scope"].split()} == scopes
        expires = self.world.now + ACCESS_TOKEN_LIFETIME
        grant.access.append(AccessToken(answer["access_token"], expires, scopes))
        assert ("refresh_token" in answer) == grant.offline
        if grant.offline:
            # The same generation is always the same text: after a lost answer, or a lost write.
            known = grant.refresh[generation : generation + 1]
            assert known in ([], [answer["refresh_token"]])
            grant.refresh[generation:] = [answer["refresh_token"], *grant.refresh[generation + 1 :]]
        claims = claims_of(answer["id_token"])
        assert claims["auth_time"] == grant.auth_time
        assert ("nonce" in claims) == first


def claims_of(id_token: str) -> Any:
    """Unverified: signatures are the subject of other tests."""
    payload = id_token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


def live(database_url: str, retry_seconds: int, lives: int) -> None:
    world = World(database_url, retry_seconds)
    try:
        with mock.patch("time.time", world.clock):
            run_state_machine_as_test(
                lambda: LifeOfGrants(world),
                settings=settings(
                    max_examples=lives,
                    stateful_step_count=40,
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                ),
            )
    finally:
        hosting.close_host(world.app)


@pytest.mark.parametrize(("retry_seconds", "lives"), [(0, 50), (10, 20)])
def test_grants_live_and_end_by_the_rules(
    database_url: str, retry_seconds: int, lives: int
) -> None:
    """Strictly single use, and with a window in which the last token may be repeated."""
    live(database_url, retry_seconds, lives)


@pytest.mark.proof
@pytest.mark.parametrize(("retry_seconds", "lives"), [(0, 2000), (10, 500)])
def test_2000_lives_of_grants(database_url: str, retry_seconds: int, lives: int) -> None:
    """The same for long."""
    live(database_url, retry_seconds, lives)
