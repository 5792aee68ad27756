"""Refresh tokens: each is used once and replaced; one that comes again ends the grant.

A refresh token names a grant and a generation. The row holds the generation that is valid now.
"""

from __future__ import annotations

import time
from typing import Any

from authlib.oauth2.rfc6749 import InvalidGrantError
from authlib.oauth2.rfc6749.grants import RefreshTokenGrant as AuthlibRefreshGrant

from idsync import signals
from idsync.applications.authentication import BASIC, NONE, POST
from idsync.oauth.grant import Grant, RefreshToken


class RefreshTokenGrant(AuthlibRefreshGrant):
    """RFC 6749 §6 with rotation (RFC 9700 §4.14.2) on one grant row."""

    TOKEN_ENDPOINT_AUTH_METHODS = (BASIC, POST, NONE)
    INCLUDE_NEW_REFRESH_TOKEN = True

    presented: RefreshToken

    def authenticate_refresh_token(self, refresh_token: str) -> Grant | None:
        """The grant a refresh token refers to, used or not."""
        presented = self.server.references.read_refresh_token(refresh_token)
        if presented is None:
            return None
        self.presented = presented
        grant: Grant | None = self.server.store.find(presented.grant_id)
        return grant if grant is not None and grant.redeemed and grant.offline else None

    def _validate_token_scope(self, token: Grant) -> None:
        """Nothing: scopes that were not granted are dropped, here as at authorize."""

    def authenticate_user(self, credential: Grant) -> Any:
        """The account. What has ended the grant is `invalid_grant`, never Authlib's code."""
        grant = credential
        if not grant.stands or grant.expires_at <= time.time():
            raise InvalidGrantError("The grant has ended; the person must sign in again.")
        if not grant.admitted:
            raise InvalidGrantError("This account has no access to this service any more.")
        return grant.account

    def issue_token(self, user: Any, credential: Grant) -> dict[str, Any]:
        """The token answer of the next generation, with this answer's scopes."""
        wanted = (self.request.payload.scope or "").split()
        scopes = tuple(scope for scope in credential.scopes if scope in (*wanted, "openid"))
        answer: dict[str, Any] = self.server.token_answer(
            credential, self.presented.generation + 1, scopes if wanted else None
        )
        return answer

    def save_token(self, token: dict[str, Any]) -> None:
        """Nothing is stored per token."""

    def revoke_old_credential(self, refresh_token: Grant) -> None:
        """Nothing: rotating is one UPDATE, after the answer was signed."""

    def create_token_response(self) -> tuple[int, dict[str, Any], list[tuple[str, str]]]:
        """Sign the answer, then rotate; a generation that comes again ends the grant."""
        grant: Grant = self.request.refresh_token
        repeated = self._answers_again(grant)
        if grant.generation > self.presented.generation and not repeated:
            self._refuse_replay(grant)
        response: tuple[int, dict[str, Any], list[tuple[str, str]]]
        response = super().create_token_response()
        if not repeated and not self.server.store.rotate(grant, self.presented.generation):
            now: Grant | None = self.server.store.find(grant.id)
            if now is None or now.generation <= self.presented.generation:
                raise InvalidGrantError("The grant has ended; the person must sign in again.")
            if not self._answers_again(now):
                self._refuse_replay(now)
        self.server.announce(signals.grant_refreshed, grant.account, grant.client_id)
        return response

    def _answers_again(self, grant: Grant) -> bool:
        """Whether the token just replaced may be answered again with the same successor."""
        return (
            grant.generation == self.presented.generation + 1
            and grant.refreshed_at is not None
            and time.time() - grant.refreshed_at < self.server.refresh_retry_seconds
        )

    def _refuse_replay(self, grant: Grant) -> None:
        if grant.stands:
            self.server.revoke_replayed(grant, "refresh token")
        raise InvalidGrantError("The refresh token was used before.")
