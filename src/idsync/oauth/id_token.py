"""The id_token: a signed statement that a person signed in, when and how (OpenID Connect Core §2).

It carries the claims of the granted scopes too, because some applications learn the person from it
alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from authlib.oidc.core.grants import OpenIDToken
from authlib.oidc.core.util import create_half_hash
from joserfc import jwt

from idsync.oauth.claims import claims_for
from idsync.oauth.grant import Grant
from idsync.oauth.signing_keys import ID_TOKEN_LIFETIME, SigningKey
from idsync.signin.sessions import SECOND_FACTOR, public_session_id

TYPE = "JWT"
"""The header's `typ`, by which an id_token differs from what else is signed with these keys."""

SINGLE_FACTOR_ACR = "1"
SECOND_FACTOR_ACR = "2"
ACR_VALUES = (SINGLE_FACTOR_ACR, SECOND_FACTOR_ACR)


def acr_of(amr: tuple[str, ...]) -> str:
    """How strongly the person proved who they are: "2" with a second factor, else "1"."""
    return SECOND_FACTOR_ACR if SECOND_FACTOR in amr else SINGLE_FACTOR_ACR


def id_token_claims(
    grant: Grant,
    *,
    issuer: str,
    access_token: str,
    algorithm: str,
    scopes: tuple[str, ...],
    role_map: Mapping[str, str],
    nonce: str | None,
    now: int,
) -> dict[str, Any]:
    """The claims of an id_token. auth_time is the sign-in's, on refresh too (Core §12.2)."""
    claims: dict[str, Any] = {
        "iss": issuer,
        "aud": grant.client_id,
        "iat": now,
        "exp": now + ID_TOKEN_LIFETIME,
        "auth_time": grant.auth_time,
        "at_hash": create_half_hash(access_token, algorithm).decode("ascii"),
        "sid": public_session_id(grant.issued_session_id),
        "acr": acr_of(grant.amr),
        **claims_for(grant.account, scopes, role_map),
    }
    if grant.amr:
        claims["amr"] = list(grant.amr)
    if nonce is not None:
        claims["nonce"] = nonce
    return claims


def sign_id_token(claims: dict[str, Any], key: SigningKey) -> str:
    """The compact JWS of the claims; the header names the key by `kid`."""
    header = {"alg": key.algorithm, "kid": key.kid, "typ": TYPE}
    return jwt.encode(header, claims, key.private, algorithms=[key.algorithm])


class IDToken(OpenIDToken):
    """Adds the id_token to the token answers of a grant; Authlib calls it before we write.

    Stateless: one object serves every request.
    """

    def __call__(self, grant: Any) -> None:
        """Have the answer completed after Authlib made it, before the grant row is written."""
        grant.register_hook("after_create_token_response", self.process_token)

    def process_token(self, grant: Any, response: tuple[int, dict[str, Any], Any]) -> None:
        """Put the id_token into the answer."""
        _, token, _ = response
        request, server = grant.request, grant.server
        row: Grant = request.authorization_code or request.refresh_token
        key = server.signing_keys.current(request.client.id_token_algorithm)
        claims = id_token_claims(
            row,
            issuer=server.issuer(),
            access_token=token["access_token"],
            algorithm=key.algorithm,
            scopes=tuple(token["scope"].split()),
            role_map=server.role_map,
            nonce=row.nonce if request.authorization_code else None,
            now=int(time.time()),
        )
        token["id_token"] = sign_id_token(claims, key)
