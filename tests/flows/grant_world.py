"""The host that the life of grants is tried on, and how its answers are compared with the model."""

import base64
import hashlib
import json
import time
from typing import Any

from sqlalchemy import text

import hosting
from flows.grant_model import ACCESS_TOKEN_LIFETIME, AccessToken, Application, Grant
from host_app.models import db, identity
from idsync.accounts.change import Change
from idsync.audit.events import COMMAND

TAG = "wiki"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode()[:43]
DAY = 24 * 3600


class World:
    """The host, two people and two applications, which every example finds as they were made."""

    def __init__(self, database_url: str, retry_seconds: int) -> None:
        self.retry_seconds = retry_seconds
        self.app = hosting.make_host(
            database_url,
            IDSYNC_REFRESH_RETRY_SECONDS=retry_seconds,
            IDSYNC_PBKDF2_ITERATIONS=1,
            IDSYNC_PBKDF2_MIN_ITERATIONS=1,
            # Each life begins at the same time: the tries of others would count in this one.
            **hosting.NO_LIMITS,
            PERMANENT_SESSION_LIFETIME=1000 * DAY,  # Flask's cookie: its age is not our subject
        )
        self.people = [
            hosting.add_person(self.app, name, f"{name}@example.org", "the first one", "--tag", TAG)
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


class Asking:
    """What applications ask of the host; each answer must be the model's, which moves along."""

    def __init__(self, world: World, applications: list[Application]) -> None:
        self._world = world
        self._applications = applications
        self._programs = world.app.test_client(use_cookies=False)

    def userinfo(self, grant: Grant, token: AccessToken) -> None:
        headers = {"Authorization": f"Bearer {token.text}"}
        response = self._programs.get("/oauth/userinfo", headers=headers)
        works = grant.works(token, self._world.now)
        assert response.status_code == (200 if works else 401), grant
        assert not works or ("email" in response.json) == ("email" in token.scopes)

    def revoke(self, token: str) -> None:
        response = self._programs.post("/oauth/revoke", data={"token": token})
        assert (response.status_code, response.json) == (200, {})

    def redeem(self, grant: Grant, mistake: str | None = None) -> None:
        form = {
            "grant_type": "authorization_code",
            "code": grant.code,
            "redirect_uri": hosting.REDIRECT_URI + ("/" if mistake == "redirect_uri" else ""),
            "code_verifier": VERIFIER + ("w" if mistake == "verifier" else ""),
        }
        answer = self._ask(grant, form, other_client=mistake == "client")
        if answer is not None:
            expected = mistake is None and grant.redeem(self._world.now)
            self._check(answer, expected, grant, 0, grant.scopes, first=True)

    def refresh(
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
        answer = self._ask(grant, form, other_client=mistake == "client")
        if answer is not None:
            now, seconds = self._world.now, self._world.retry_seconds
            expected = mistake is None and grant.rotate(generation, now, seconds)
            scopes = grant.scopes & {*scope.split(), "openid"} if scope else grant.scopes
            self._check(answer, expected, grant, generation + 1, scopes, first=False)

    def _ask(self, grant: Grant, form: dict[str, str], *, other_client: bool) -> Any:
        """The answer; None where the asking application is switched off and was told so."""
        number = self._applications.index(grant.application) ^ other_client
        response = self._programs.post(
            "/oauth/token", data=form, auth=self._world.clients[number].basic
        )
        if self._applications[number].active:
            return response
        assert (response.status_code, response.json["error"]) == (401, "invalid_client")
        return None

    def _check(
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
        expires = self._world.now + ACCESS_TOKEN_LIFETIME
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
