"""The discovery documents (OpenID Connect Discovery 1.0, RFC 8414) and the published keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Response, url_for

from idsync.applications.application import ID_TOKEN_ALGORITHMS, SCOPES
from idsync.applications.authentication import BASIC, NONE, POST
from idsync.machine import json_response
from idsync.oauth.claims import CLAIMS
from idsync.oauth.id_token import ACR_VALUES
from idsync.oauth.request import PROMPTS
from idsync.oauth.signing_keys import CACHE_SECONDS, SigningKeys


def server_metadata(
    issuer: str, addresses: dict[str, str], ui_locales: tuple[str, ...]
) -> dict[str, Any]:
    """What the service supports, no more and no less. `addresses` are the endpoints' full URLs."""
    return {
        "issuer": issuer,
        **addresses,
        "scopes_supported": list(SCOPES),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": list(ID_TOKEN_ALGORITHMS),
        "token_endpoint_auth_methods_supported": [BASIC, POST, NONE],
        "revocation_endpoint_auth_methods_supported": [BASIC, POST, NONE],
        "code_challenge_methods_supported": ["S256"],
        "claims_supported": [
            "iss",
            "aud",
            "exp",
            "iat",
            "auth_time",
            "nonce",
            "at_hash",
            "sid",
            "amr",
            "acr",
            *CLAIMS,
        ],
        "claim_types_supported": ["normal"],
        "acr_values_supported": list(ACR_VALUES),
        "prompt_values_supported": list(PROMPTS),
        "display_values_supported": ["page"],
        **({"ui_locales_supported": list(ui_locales)} if ui_locales else {}),
        "claims_parameter_supported": False,
        "request_parameter_supported": False,
        "request_uri_parameter_supported": False,
        "authorization_response_iss_parameter_supported": True,
        "backchannel_logout_supported": True,
        "backchannel_logout_session_supported": True,
    }


class DiscoveryEndpoint:
    """GET /.well-known/openid-configuration and /.well-known/oauth-authorization-server."""

    def __init__(
        self,
        issuer: Callable[[], str],
        endpoints: dict[str, str],
        ui_locales: tuple[str, ...],
    ) -> None:
        self._issuer = issuer
        self._endpoints = endpoints
        self._ui_locales = ui_locales

    def __call__(self) -> Response:
        """The metadata; clients may keep it for a while."""
        issuer = self._issuer()
        origin = "/".join(issuer.split("/", 3)[:3])
        addresses = {name: origin + url_for(endpoint) for name, endpoint in self._endpoints.items()}
        return _cacheable(json_response(200, server_metadata(issuer, addresses, self._ui_locales)))


class JwksEndpoint:
    """GET /oauth/jwks."""

    def __init__(self, keys: SigningKeys) -> None:
        self._keys = keys

    def __call__(self) -> Response:
        """The public keys (RFC 7517)."""
        return _cacheable(json_response(200, self._keys.jwks()))


def _cacheable(response: Response) -> Response:
    response.headers["Cache-Control"] = f"public, max-age={CACHE_SECONDS}"
    return response
