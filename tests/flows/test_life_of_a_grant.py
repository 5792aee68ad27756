"""The life of grants as a state machine: whatever people, applications and time do, in any order.

The reference host runs on a real database and is only called over WSGI, or as a command would; what
it answers is compared with `grant_model`, where the rules are written down in the plainest way.
"""

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
from flows.grant_model import Account, Application, Browser, Grant
from flows.grant_world import CHALLENGE, DAY, TAG, Asking, World
from host_app.models import db, identity
from idsync.audit.events import COMMAND

MOST_GRANTS = 8
MINUTE = 60
STEPS_OF_TIME = (1, 1, 9, 10, MINUTE, MINUTE, 11 * MINUTE, 61 * MINUTE, 2 * DAY, 31 * DAY)


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
        self.accounts = [Account("the first one"), Account("the first one")]
        self.applications = [Application(needs_tag=False), Application(needs_tag=True)]
        self.asking = Asking(world, self.applications)
        self.browser = Browser()
        self.all: list[Grant] = []
        self.seen_ended: set[Grant] = set()
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
        self.asking.redeem(grant)
        return grant

    @rule(
        grant=st.one_of(codes, codes, grants),
        mistake=st.sampled_from(["verifier", "redirect_uri", "client"]),
    )
    def redeem_wrongly(self, grant: Grant, mistake: str) -> None:
        self.asking.redeem(grant, mistake)

    @rule(grant=grants)
    def refresh(self, grant: Grant) -> None:
        self.asking.refresh(grant)

    @rule(grant=grants, scope=st.sampled_from(["openid", "email profile"]))
    def refresh_with_scope(self, grant: Grant, scope: str) -> None:
        self.asking.refresh(grant, scope=scope)

    @rule(grant=grants, age=st.integers(0, 1), mistake=st.sampled_from(["client", "forged"]))
    def refresh_wrongly(self, grant: Grant, age: int, mistake: str) -> None:
        self.asking.refresh(grant, age=age, mistake=mistake)

    @rule()
    def carry_on(self) -> None:
        """Hypothesis prefers the rule without arguments; so it is the most ordinary thing."""
        for grant in self.all[-2:]:
            self.asking.refresh(grant)

    @rule(days=st.sampled_from([1, 29]))
    def use_for_long(self, days: int) -> None:
        """All applications refresh in time, twice."""
        for _ in range(2):
            self.wait(days * DAY)
            for grant in self.all:
                self.asking.refresh(grant)

    @precondition(one_can_be_spared)
    @rule(grant=grants, what=st.sampled_from(["code", 1, 2]))
    def present_again(self, grant: Grant, what: Any) -> None:
        """A code, or a refresh token so many generations old."""
        if what == "code":
            self.asking.redeem(grant)
        else:
            self.asking.refresh(grant, age=what)

    @precondition(one_can_be_spared)
    @rule(grant=grants, kind=st.sampled_from(["access", "refresh"]), age=st.integers(0, 1))
    def revoke(self, grant: Grant, kind: str, age: int) -> None:
        texts = [token.text for token in grant.access] if kind == "access" else grant.refresh
        if age >= len(texts):
            return
        self.asking.revoke(texts[-1 - age])
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
            self.world.parts.applications.switch(
                client_id, active=application.active, actor=COMMAND
            )

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
        """A grant that has ended for good is asked for once, and again when the life is over."""
        for grant in self.all:
            if grant not in self.seen_ended:
                self.see(grant, 1)
                if grant.has_ended():
                    self.seen_ended.add(grant)

    def see(self, grant: Grant, number: int) -> None:
        """Ask with the newest access tokens."""
        for token in grant.access[-number:]:
            self.asking.userinfo(grant, token)

    def teardown(self) -> None:
        """What has ended stays ended, whatever is put right; the rest is ended in three ways."""
        for grant in self.all:
            self.asking.refresh(grant)
            if not grant.redeemed:
                self.asking.redeem(grant)
        for number in (0, 1):
            if not self.applications[number].active:
                self.switch_application(number)
            self.change_account(number, "enable")
            if not self.accounts[number].tagged:
                self.switch_tag(number)
        for grant in self.all:
            self.see(grant, 2)
        self.wait(61 * MINUTE)
        for number, grant in enumerate(self.all):
            self.revoke(grant, "access", 0)  # expired: it ends nothing
            self.asking.refresh(grant)
            if number % 3 == 0:
                self.wait(self.world.retry_seconds)
                self.asking.refresh(grant, age=1)
            elif number % 3 == 1:
                self.revoke(grant, "refresh", 1)
            else:
                self.asking.redeem(grant)
            self.asking.refresh(grant)
        for grant in self.all:
            self.see(grant, 2)


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
    """Strictly single use, and with a window in which the last token may be repeated.

    Fewer on PostgreSQL, which takes longer over the same rules.
    """
    live(database_url, retry_seconds, lives if database_url.startswith("sqlite") else lives // 3)


@pytest.mark.proof
@pytest.mark.parametrize(("retry_seconds", "lives"), [(0, 2000), (10, 500)])
def test_2000_lives_of_grants(database_url: str, retry_seconds: int, lives: int) -> None:
    """The same for long."""
    live(database_url, retry_seconds, lives)
