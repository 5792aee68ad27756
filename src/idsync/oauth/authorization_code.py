"""The authorization code: issued at authorize, exchanged once at the token endpoint.

Order at the exchange: client, code, redirect_uri, code verifier, account, tokens made and signed,
and only then the one UPDATE that decides whether this exchange is the one that counts.
"""

from __future__ import annotations

import time
from typing import Any

from authlib.oauth2.rfc6749 import InvalidGrantError
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant as AuthlibCodeGrant

from idsync import signals
from idsync.applications.application import Application
from idsync.applications.authentication import BASIC, NONE, POST
from idsync.oauth.grant import Grant, NewGrant
from idsync.oauth.redirect import add_query
from idsync.oauth.request import AuthorizationRequest
from idsync.signin.sessions import SignedIn


class AuthorizationCodeGrant(AuthlibCodeGrant):
    """RFC 6749 §4.1 on one grant row."""

    TOKEN_ENDPOINT_AUTH_METHODS = (BASIC, POST, NONE)

    # --- authorize ---------------------------------------------------------------------------

    def validate_no_multiple_request_parameter(self, request: Any) -> None:
        """Nothing: it is one of the request's own checks."""

    def validate_authorization_request(self) -> str:
        """Run the request's checks and return the address to redirect to.

        Leaves the application in `request.client`, the checked values in
        `request.authorization`. Raises PageError or an OAuth2Error with its redirect_uri.
        """
        request = self.request
        if request.authorization is None:
            self.server.check_authorization_request(request)
        authorization: AuthorizationRequest = request.authorization
        return authorization.redirect_uri

    def create_authorization_response(
        self, redirect_uri: str, grant_user: SignedIn
    ) -> tuple[int, str, list[tuple[str, str]]]:
        """Write the grant and redirect with its code, the state and our issuer (RFC 9207)."""
        authorization: AuthorizationRequest = self.request.authorization
        grant_id = self.server.issue(
            NewGrant(
                client_id=authorization.client_id,
                account=grant_user.account,
                session_id=grant_user.id,
                epoch=grant_user.account.epoch,
                scopes=authorization.scopes,
                redirect_uri=redirect_uri,
                code_challenge=authorization.code_challenge,
                nonce=authorization.nonce,
                auth_time=grant_user.auth_time,
                amr=grant_user.amr,
            )
        )
        answer = {
            "code": self.server.references.code(grant_id),
            "state": authorization.state,
            "iss": self.server.issuer(),
        }
        return 303, "", [("Location", add_query(redirect_uri, answer))]

    # --- token -------------------------------------------------------------------------------

    def query_authorization_code(self, code: str, client: Application) -> Grant | None:
        """The grant a code refers to, if it is this application's; used ones too."""
        grant_id = self.server.references.read_code(code)
        grant: Grant | None = None if grant_id is None else self.server.store.find(grant_id)
        return grant if grant is not None and grant.client_id == client.client_id else None

    def authenticate_user(self, authorization_code: Grant) -> Any:
        """The account, unless something has ended the grant or the code is too old."""
        grant = authorization_code
        if not grant.stands or not grant.admitted:
            return None
        return grant.account if grant.redeemed or grant.expires_at > time.time() else None

    def generate_token(self, **_: Any) -> dict[str, Any]:
        """The token answer of this grant's first generation."""
        answer: dict[str, Any] = self.server.token_answer(self.request.authorization_code, 0)
        return answer

    def save_token(self, token: dict[str, Any]) -> None:
        """Nothing is stored per token."""

    def delete_authorization_code(self, authorization_code: Grant) -> None:
        """Nothing: redeeming is one UPDATE, after the answer was signed."""

    def create_token_response(self) -> tuple[int, dict[str, Any], list[tuple[str, str]]]:
        """Sign the answer, then redeem; a code that comes again ends the grant.

        By now client, redirect_uri and verifier were right, so a second exchange is a replay by
        (or from) the grant's own application: RFC 6749 §4.1.2 asks to revoke what it gave.
        """
        grant: Grant = self.request.authorization_code
        if grant.redeemed:
            self.server.revoke_replayed(grant, "authorization code")
            raise InvalidGrantError("The code was used before.")
        response: tuple[int, dict[str, Any], list[tuple[str, str]]]
        response = super().create_token_response()
        if not self.server.store.redeem(grant):
            self._explain_refusal(grant)
        self.server.announce(signals.grant_redeemed, grant.account, grant.client_id)
        return response

    def _explain_refusal(self, grant: Grant) -> None:
        now: Grant | None = self.server.store.find(grant.id)
        if now is not None and now.redeemed:
            self.server.revoke_replayed(grant, "authorization code")
            raise InvalidGrantError("The code was used before.")
        raise InvalidGrantError("The code is no longer valid.")
