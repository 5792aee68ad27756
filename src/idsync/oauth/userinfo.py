"""Userinfo (OpenID Connect Core §5.3): what the bearer of an access token may know, as of now."""

from __future__ import annotations

import time
from collections.abc import Mapping

from flask import Response, request

from idsync.machine import json_response, note_caller, request_body
from idsync.oauth.claims import claims_for
from idsync.oauth.grant import AccessToken, Grant, TokenReferences
from idsync.oauth.store import GrantStore
from idsync.oauth.token import FORM, error_body
from idsync.parameters import (
    LONGEST_INPUT,
    UnreadableParameters,
    read_parameters,
    single_values,
)


class BearerRefused(Exception):
    """A request without a usable access token (RFC 6750 §3.1).

    `code` is None where no token was sent at all: then the challenge names no error.
    """

    def __init__(self, status: int, code: str | None, description: str) -> None:
        super().__init__(description)
        self.status = status
        self.code = code
        self.description = description


class UserinfoEndpoint:
    """GET and POST /oauth/userinfo."""

    def __init__(
        self, store: GrantStore, references: TokenReferences, role_map: Mapping[str, str]
    ) -> None:
        self._store = store
        self._references = references
        self._role_map = role_map

    def __call__(self) -> Response:
        """Answer with the claims of the token's scopes."""
        try:
            token, grant = self._authenticate(_bearer_token())
        except BearerRefused as refused:
            return _refusal(refused)
        scopes = [one for one in grant.scopes if token.scopes is None or one in token.scopes]
        return json_response(200, claims_for(grant.account, scopes, self._role_map))

    def _authenticate(self, text: str) -> tuple[AccessToken, Grant]:
        """The token and its grant, by one statement. A forged token reaches no database."""
        token = self._references.read_access_token(text)
        if token is None:
            raise BearerRefused(401, "invalid_token", "The access token is not valid.")
        if token.expires_at <= time.time():
            raise BearerRefused(401, "invalid_token", "The access token has expired.")
        grant = self._store.find(token.grant_id)
        if grant is None or not grant.redeemed or not grant.stands or not grant.admitted:
            raise BearerRefused(401, "invalid_token", "The access token is not valid any more.")
        note_caller(subject=grant.account.subject, client_id=grant.client_id)
        return token, grant


def _bearer_token() -> str:
    """The token from the header or the form body, never the query (RFC 9700 §4.3.2)."""
    scheme, _, token = (request.headers.get("Authorization") or "").strip().partition(" ")
    in_header = token.strip() if scheme.lower() == "bearer" else None
    in_body = None
    if request.method == "POST" and request.mimetype == FORM:
        try:
            in_body = single_values(read_parameters(request_body(LONGEST_INPUT))).get(
                "access_token"
            )
        except UnreadableParameters as error:
            raise BearerRefused(400, "invalid_request", str(error)) from None
    if in_header and in_body:
        raise BearerRefused(400, "invalid_request", "The access token was sent twice.")
    if not in_header and not in_body:
        raise BearerRefused(401, None, "An access token is needed.")
    return in_header or in_body or ""


def _refusal(refused: BearerRefused) -> Response:
    challenge = 'Bearer realm="idsync"'
    if refused.code is not None:
        challenge += f', error="{refused.code}", error_description="{refused.description}"'
    body = error_body(refused.code or "invalid_token", refused.description)
    return json_response(refused.status, body, {"WWW-Authenticate": challenge})
