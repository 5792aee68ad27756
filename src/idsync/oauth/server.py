"""The authorization server: Authlib's, with our store, references, keys and client authentication.

It knows no Flask. Views hand it an `OAuthRequest` made of plain values and get back a status, a
body and headers; the grant classes find everything they need on `self.server`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from authlib.oauth2 import AuthorizationServer, OAuth2Error, OAuth2Request
from authlib.oauth2.rfc6749 import (
    InvalidClientError,
    OAuth2Payload,
    UnsupportedGrantTypeError,
)

from idsync import signals
from idsync.accounts.record import Account
from idsync.applications.application import Application
from idsync.applications.authentication import authenticate_client
from idsync.errors import ClientRefused, MalformedCredentials
from idsync.oauth.authorization_code import AuthorizationCodeGrant
from idsync.oauth.errors import (
    InvalidAuthorizationRequest,
    TokenRequestError,
    UnsupportedGrantType,
)
from idsync.oauth.grant import AccessToken, Grant, NewGrant, RefreshToken, TokenReferences
from idsync.oauth.id_token import IDToken
from idsync.oauth.id_token_hint import read_hint
from idsync.oauth.pkce import S256CodeChallenge
from idsync.oauth.refresh_token import RefreshTokenGrant
from idsync.oauth.request import AuthorizationRequest, find_client, read_request
from idsync.oauth.signing_keys import SigningKeys
from idsync.oauth.store import GrantStore
from idsync.parameters import Parameters
from idsync.settings import ACCESS_TOKEN_LIFETIME

log = logging.getLogger("idsync")


class Signal(Protocol):
    """What the server needs of a blinker signal."""

    name: str

    def send(self, sender: Any, **arguments: Any) -> Any:
        """Tell the receivers."""


class _Payload(OAuth2Payload):
    def __init__(self, parameters: Parameters) -> None:
        self._lists = parameters
        self._single = {name: values[0] for name, values in parameters.items() if values[0]}

    @property
    def data(self) -> dict[str, str]:
        return self._single

    @property
    def datalist(self) -> Parameters:
        return self._lists


class OAuthRequest(OAuth2Request):
    """A request as plain values: parameters of the query or of the form, and headers.

    Authlib checks the transport of `uri`; the issuer setting is our authority on that, so the
    issuer's own address is given.
    """

    def __init__(
        self,
        method: str,
        uri: str,
        parameters: Parameters,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(method, uri, headers=headers or {})
        self.payload = _Payload(parameters)
        self.authorization: AuthorizationRequest | None = None

    @property
    def checked(self) -> AuthorizationRequest:
        """The checked parameters of an authorization request."""
        assert self.authorization is not None  # noqa: S101 - only asked after the checks
        return self.authorization

    @property
    def form(self) -> dict[str, str]:
        """The single values of the parameters."""
        return self.payload.data

    @property
    def args(self) -> dict[str, str]:
        """The same; a request carries its parameters in one place only."""
        return self.payload.data


class IdentityServer(AuthorizationServer):
    """One per application; holds no state of a request."""

    def __init__(
        self,
        *,
        find_application: Callable[[str], Application | None],
        store: GrantStore,
        references: TokenReferences,
        signing_keys: SigningKeys,
        issuer: Callable[[], str],
        role_map: Mapping[str, str],
        refresh_retry_seconds: int = 0,
        signal_sender: Callable[[], Any] = lambda: None,
        record_issue: Callable[[Account, str], None] = lambda account, client_id: None,
        record_replay: Callable[[Grant, str], None] = lambda grant, what: None,
        note_caller: Callable[..., None] = lambda **_: None,
    ) -> None:
        super().__init__()
        self.query_client = find_application
        self.store = store
        self.references = references
        self.signing_keys = signing_keys
        self.issuer = issuer
        self.role_map = role_map
        self.refresh_retry_seconds = refresh_retry_seconds
        self._signal_sender = signal_sender
        self._record_issue = record_issue
        self._record_replay = record_replay
        self._note_caller = note_caller
        self.register_grant(AuthorizationCodeGrant, [S256CodeChallenge(), IDToken()])
        self.register_grant(RefreshTokenGrant, [IDToken()])

    # --- what the views call -----------------------------------------------------------------

    def check_authorization_request(self, request: OAuthRequest) -> None:
        """Run the checks of `request.py` in their order; leave the results on the request.

        Raises PageError, or an OAuth2Error whose redirect_uri is the application's own.
        """
        parameters = request.payload.datalist
        application, redirect_uri = find_client(parameters, self.query_client)
        request.client = application
        try:
            request.authorization = self._with_hint(
                read_request(parameters, application, redirect_uri), request.payload.data
            )
        except OAuth2Error as error:
            error.redirect_uri = redirect_uri
            raise

    def _with_hint(
        self, authorization: AuthorizationRequest, given: Mapping[str, str]
    ) -> AuthorizationRequest:
        """The request with whom its id_token_hint names. Raises InvalidAuthorizationRequest."""
        if "id_token_hint" not in given:
            return authorization
        hint = read_hint(given["id_token_hint"], self.signing_keys, self.issuer())
        if hint is None or hint.client_id != authorization.client_id:
            raise InvalidAuthorizationRequest(
                "id_token_hint is not an id_token of this service for this application."
            )
        return replace(authorization, hinted_subject=hint.subject)

    def token_answer(
        self, grant: Grant, generation: int, scopes: tuple[str, ...] | None = None
    ) -> dict[str, Any]:
        """The token answer of a grant; `scopes` where this answer's are fewer than the grant's."""
        if scopes == grant.scopes:
            scopes = None
        expires_at = int(time.time()) + ACCESS_TOKEN_LIFETIME
        answer: dict[str, Any] = {
            "token_type": "Bearer",
            "access_token": self.references.access_token(AccessToken(grant.id, expires_at, scopes)),
            "expires_in": ACCESS_TOKEN_LIFETIME,
            "scope": " ".join(grant.scopes if scopes is None else scopes),
        }
        if grant.offline:
            answer["refresh_token"] = self.references.refresh_token(
                RefreshToken(grant.id, generation)
            )
        return answer

    def issue(self, new: NewGrant) -> bytes:
        """Write a grant, tell, and return its id."""
        grant_id = self.store.issue(new, lambda: self._record_issue(new.account, new.client_id))
        self.announce(signals.grant_issued, new.account, new.client_id)
        return grant_id

    def revoke_replayed(self, grant: Grant, what: str) -> None:
        """End a grant whose code or refresh token came a second time, and tell."""
        if self.store.revoke(grant.id, lambda: self._record_replay(grant, what)):
            log.warning(
                "replayed %s: grant ended subject=%s client_id=%s",
                what,
                grant.account.subject,
                grant.client_id,
            )
            self.announce(
                signals.grant_revoked, grant.account, grant.client_id, reason=f"replayed {what}"
            )

    def revoke(self, grant_id: bytes, reason: str) -> None:
        """End a grant and tell, unless it had ended already."""
        if not self.store.revoke(grant_id):
            return
        grant = self.store.find(grant_id)
        if grant is not None:
            self.announce(signals.grant_revoked, grant.account, grant.client_id, reason=reason)

    def announce(self, signal: Signal, account: Account, client_id: str, **arguments: Any) -> None:
        """Send one of the grant signals."""
        log.info("%s subject=%s client_id=%s", signal.name, account.subject, client_id)
        self._note_caller(subject=account.subject, client_id=client_id)
        signal.send(
            self._signal_sender(), subject=account.subject, client_id=client_id, **arguments
        )

    # --- what Authlib calls ------------------------------------------------------------------

    def authenticate_client(
        self, request: OAuthRequest, methods: list[str], endpoint: str = "token"
    ) -> Application:
        """The application a token request comes from; all methods are read at once."""
        try:
            application, request.auth_method = authenticate_client(
                self.query_client, request.headers.get("Authorization"), request.form
            )
        except MalformedCredentials as error:
            raise TokenRequestError(str(error)) from None
        except ClientRefused as error:
            raise InvalidClientError(description=str(error), status_code=401) from None
        self._note_caller(client_id=application.client_id)
        return application

    def get_token_grant(self, request: OAuthRequest) -> Any:
        """The grant class for the grant_type; an unknown one is not repeated in the answer."""
        try:
            return super().get_token_grant(request)
        except UnsupportedGrantTypeError:
            raise UnsupportedGrantType from None

    def get_authorization_grant(self, request: OAuthRequest) -> AuthorizationCodeGrant:
        """The code grant, always: response_type is one of the request's own checks."""
        return AuthorizationCodeGrant(request, self)

    def create_oauth2_request(self, request: OAuthRequest) -> OAuthRequest:
        """The views have made it already."""
        return request

    def handle_response(
        self, status: int, body: Any, headers: list[tuple[str, str]]
    ) -> tuple[int, Any, list[tuple[str, str]]]:
        """Leave the answer to the view."""
        return status, body, headers

    def send_signal(self, name: str, *args: Any, **kwargs: Any) -> None:
        """Authlib's own signals are not used; ours are in `idsync.signals`."""
