"""Proof Key for Code Exchange (RFC 7636), S256 only.

Challenges are checked with the authorization request (`request.py`); this is the verifier's side.
"""

from __future__ import annotations

import hmac
import re
from typing import Any

from authlib.oauth2.rfc6749 import InvalidGrantError, InvalidRequestError
from authlib.oauth2.rfc7636 import CodeChallenge, create_s256_code_challenge

_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")  # RFC 7636 §4.1


class S256CodeChallenge(CodeChallenge):
    """Authlib's extension without the method `plain`. A failed check does not burn the code."""

    def validate_code_challenge(self, grant: Any, redirect_uri: str) -> None:
        """Nothing: the authorization request's own checks have looked at it."""

    def validate_code_verifier(self, grant: Any, result: Any) -> None:
        """Compare the verifier with the grant's challenge.

        Raises InvalidRequestError where it is missing, malformed or was not asked for (RFC 9700
        §4.8.2), InvalidGrantError where it is wrong (RFC 7636 §4.6).
        """
        verifier = grant.request.form.get("code_verifier")
        challenge = grant.request.authorization_code.code_challenge
        if challenge is None:
            if verifier is not None:
                raise InvalidRequestError("The authorization request had no code_challenge.")
            return
        if verifier is None:
            raise InvalidRequestError("code_verifier is missing.")
        if not _VERIFIER.fullmatch(verifier):
            raise InvalidRequestError(
                "code_verifier must have 43 to 128 characters: letters, digits, - . _ ~"
            )
        if not hmac.compare_digest(create_s256_code_challenge(verifier), challenge):
            raise InvalidGrantError("code_verifier does not match the code_challenge.")
