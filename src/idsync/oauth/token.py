"""The token endpoint (RFC 6749 §3.2): reads a form, hands it to Authlib, sends JSON back."""

from __future__ import annotations

from flask import Response, request

from idsync.machine import json_response, request_body
from idsync.oauth.errors import TokenRequestError
from idsync.oauth.server import IdentityServer, OAuthRequest
from idsync.parameters import (
    LONGEST_INPUT,
    UnreadableParameters,
    read_parameters,
    single_values,
)

FORM = "application/x-www-form-urlencoded"


class TokenEndpoint:
    """POST /oauth/token."""

    def __init__(self, server: IdentityServer) -> None:
        self._server = server

    def __call__(self) -> Response:
        """Answer with tokens, or with an error by RFC 6749 §5.2."""
        try:
            answer = self._server.create_token_response(self._read())
        except TokenRequestError as error:
            answer = error()
        status, body, _ = answer
        # RFC 6749 §5.2: a client that failed to authenticate is told the scheme.
        headers = {"WWW-Authenticate": 'Basic realm="idsync"'} if status == 401 else {}
        return json_response(status, body, {"Pragma": "no-cache", **headers})

    def _read(self) -> OAuthRequest:
        body = request_body(LONGEST_INPUT)
        if request.mimetype != FORM:
            raise TokenRequestError(f"Send the parameters as {FORM}.")
        try:
            parameters = read_parameters(body)
            given = single_values(parameters)
        except UnreadableParameters as error:
            raise TokenRequestError(str(error)) from None
        if "grant_type" not in given:
            raise TokenRequestError("grant_type is missing.")
        uri = self._server.issuer() + request.path
        return OAuthRequest("POST", uri, parameters, dict(request.headers))


def error_body(code: str, description: str) -> dict[str, str]:
    """An OAuth error (RFC 6749 §5.2)."""
    return {"error": code, "error_description": description}
