"""Token revocation (RFC 7009) as the service's contract wants it: 200 and `{}`, whatever came.

A living access token, or a refresh token of any generation, ends its grant. What is expired,
forged, unknown or unreadable changes nothing. Credentials sent along are not looked at: whoever
holds the token may end it.
"""

from __future__ import annotations

import time

from flask import Response, request
from werkzeug.exceptions import RequestEntityTooLarge

from idsync.machine import UnreadableBody, json_response, request_body
from idsync.oauth.server import IdentityServer
from idsync.parameters import LONGEST_INPUT, UnreadableParameters, read_parameters

MOST_TOKENS = 4
"""Tokens looked at in one request; one is usual, some clients repeat it in the query."""


class RevocationEndpoint:
    """POST /oauth/revoke."""

    def __init__(self, server: IdentityServer) -> None:
        self._server = server

    def __call__(self) -> Response:
        """End the grant of each token that was sent."""
        for token in _tokens()[:MOST_TOKENS]:
            grant_id = self._grant_of(token)
            if grant_id is not None:
                self._server.revoke(grant_id, "revoked by its application")
        return json_response(200, {})

    def _grant_of(self, token: str) -> bytes | None:
        references = self._server.references
        refresh = references.read_refresh_token(token)
        if refresh is not None:
            return refresh.grant_id
        access = references.read_access_token(token)
        if access is not None and access.expires_at > time.time():
            return access.grant_id
        return None


def _tokens() -> list[str]:
    """The tokens in the body and the query, each once."""
    tokens: list[str] = []
    try:
        sources = [request_body(LONGEST_INPUT), request.query_string]
    except (RequestEntityTooLarge, UnreadableBody):
        return []
    for source in sources:
        try:
            tokens += read_parameters(source).get("token", [])
        except UnreadableParameters:
            continue
    return list(dict.fromkeys(tokens))
