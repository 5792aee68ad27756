"""An id_token of ours that an application shows as a hint of who it means.

At authorize (OpenID Connect Core §3.1.2.1) and at logout (RP-Initiated Logout 1.0 §2). An expired
one will do; one that another application got, or that we did not sign, will not.
"""

from __future__ import annotations

from dataclasses import dataclass

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from idsync.applications.application import ID_TOKEN_ALGORITHMS
from idsync.oauth.id_token import TYPE
from idsync.oauth.signing_keys import SigningKeys


@dataclass(frozen=True, slots=True)
class Hint:
    """Whom an id_token names, and the application it was made for."""

    subject: str
    client_id: str


def read_hint(id_token: str, signing_keys: SigningKeys, issuer: str) -> Hint | None:
    """Whom one of our id_tokens names; None for anything else."""
    try:
        keys = KeySet.import_key_set({"keys": [key.public for key in signing_keys.accepted()]})
        token = jwt.decode(id_token, keys, algorithms=list(ID_TOKEN_ALGORITHMS))
    except (JoseError, ValueError, TypeError):  # the last for a header of odd types
        return None
    subject, audience = token.claims.get("sub"), token.claims.get("aud")
    # Logout tokens are signed with the same keys, and say something else.
    if token.header.get("typ") != TYPE or token.claims.get("iss") != issuer:
        return None
    if not isinstance(subject, str) or not isinstance(audience, str):
        return None
    return Hint(subject, audience)
