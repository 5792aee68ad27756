"""Signing people in with the identity service, in any web framework, by Authlib's client.

`SignIn.begin` gives the address to send the person to and what to keep in their session meanwhile;
`SignIn.finish` checks the answer, in this order: it was begun in this browser (state), it comes
from this identity service (iss, RFC 9207), it is no refusal, the code can be redeemed (PKCE), and
the id_token is signed by the service, for us, now, and for this very request (nonce). Whether the
person may come in is for `admission.admit_signed_in` to say.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlencode

import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from idsync.consumer.errors import ServiceAway, SignInRefused, UnreadableAnswer
from idsync.consumer.transport import checked_base_url

SCOPE = "openid profile email"
ALGORITHMS = ("RS256", "ES256")
TIMEOUT = (5, 20)
"""Seconds until a connection stands, and between two pieces of an answer."""

METADATA_LIFETIME = 3600
"""Seconds that addresses and keys of the identity service are kept."""

NEW_KEYS_INTERVAL = 60
"""Seconds in which unknown keys are asked for once, whatever id_tokens name."""

LEEWAY = 60
"""Seconds that two clocks may differ."""


@dataclass(frozen=True, slots=True)
class Departure:
    """Send the person to `url`, and keep `kept` in their session for `SignIn.finish`."""

    url: str
    kept: dict[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Arrival:
    """Who signed in: the id of the account, the id_token's claims, and the token response."""

    subject: str
    claims: dict[str, Any]
    tokens: dict[str, Any] = field(repr=False)


class SignIn:
    """Sign-in with one identity service as one confidential application.

    issuer: of the identity service, as "https://id.example.org". One object serves all threads.
    """

    def __init__(
        self, issuer: str, client_id: str, client_secret: str, *, scope: str = SCOPE
    ) -> None:
        self._issuer = checked_base_url(issuer)
        self._client_id = client_id
        self._client_secret = client_secret
        self._scope = scope
        self._lock = threading.Lock()
        self._metadata: dict[str, Any] = {}
        self._keys: dict[str, Any] = {}
        self._metadata_until = 0.0
        self._keys_since = 0.0

    def begin(self, redirect_uri: str, **parameters: str) -> Departure:
        """Begin a sign-in that comes back to this registered address.

        parameters: further ones of the request, as `login_hint` or `prompt`. Raises ServiceAway
        and UnreadableAnswer.
        """
        kept = {
            "state": secrets.token_urlsafe(32),
            "nonce": secrets.token_urlsafe(32),
            "verifier": secrets.token_urlsafe(48),
            "redirect_uri": redirect_uri,
        }
        query = {
            **parameters,
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": redirect_uri,
            "scope": self._scope,
            "state": kept["state"],
            "nonce": kept["nonce"],
            "code_challenge": create_s256_code_challenge(kept["verifier"]),
            "code_challenge_method": "S256",
        }
        return Departure(f"{self._address('authorization_endpoint')}?{urlencode(query)}", kept)

    def finish(self, answer: Mapping[str, str], kept: Mapping[str, str] | None) -> Arrival:
        """Verify the parameters that came to the redirect address.

        kept: what `begin` gave; take it out of the session, so that it serves once. Raises
        SignInRefused, ServiceAway and UnreadableAnswer.
        """
        if not kept or not _same(answer.get("state"), kept.get("state")):
            raise _invalid("The sign-in was not begun in this browser.")
        if answer.get("iss") != self._issuer:
            raise _invalid("The answer comes from somebody else.")
        if "error" in answer:
            raise SignInRefused(answer["error"], answer.get("error_description", ""))
        tokens = self._redeem(answer.get("code", ""), kept)
        claims = self._verified(tokens, kept["nonce"])
        return Arrival(claims["sub"], claims, tokens)

    def _redeem(self, code: str, kept: Mapping[str, str]) -> dict[str, Any]:
        with OAuth2Session(self._client_id, self._client_secret) as session:
            try:
                tokens = session.fetch_token(
                    self._address("token_endpoint"),
                    grant_type="authorization_code",
                    code=code,
                    redirect_uri=kept["redirect_uri"],
                    code_verifier=kept["verifier"],
                    timeout=TIMEOUT,
                    allow_redirects=False,
                )
            except AuthlibBaseError as error:
                raise SignInRefused(error.error or "invalid_answer", error.description) from None
            except requests.JSONDecodeError:
                raise UnreadableAnswer("The answer to the code is not JSON.") from None
            except requests.RequestException:
                raise ServiceAway("The identity service cannot be reached.") from None
        return dict(tokens)

    def _verified(self, tokens: Mapping[str, Any], nonce: str) -> dict[str, Any]:
        """The claims of the id_token. Raises SignInRefused."""
        try:
            token = self._decoded(str(tokens["id_token"]))
            claims = CodeIDToken(
                token.claims,
                token.header,
                {
                    "iss": {"essential": True, "value": self._issuer},
                    "aud": {"essential": True, "value": self._client_id},
                    "sub": {"essential": True},
                    "nonce": {"essential": True, "value": nonce},
                },
                {
                    "nonce": nonce,
                    "client_id": self._client_id,
                    "access_token": tokens.get("access_token"),
                },
            )
            claims.validate(now=int(time.time()), leeway=LEEWAY)
        except (JoseError, AuthlibBaseError, KeyError, ValueError, TypeError):
            raise _invalid("The id_token cannot be believed.") from None
        if not isinstance(claims["sub"], str) or not claims["sub"]:
            raise _invalid("The id_token names nobody.")
        return dict(claims)

    def _decoded(self, text: str) -> jwt.Token:
        registry = JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False)
        try:
            return jwt.decode(text, self._key_set(), registry=registry)
        except InvalidKeyIdError:
            return jwt.decode(text, self._key_set(newer=True), registry=registry)

    # --- what the identity service publishes ----------------------------------------------------

    def _address(self, name: str) -> str:
        with self._lock:
            address = self._current_metadata().get(name)
        if not isinstance(address, str):
            raise UnreadableAnswer(f"The identity service does not publish its {name}.")
        return address

    def _key_set(self, *, newer: bool = False) -> KeySet:
        with self._lock:
            age = time.time() - self._keys_since
            if not self._keys or age > METADATA_LIFETIME or (newer and age > NEW_KEYS_INTERVAL):
                self._keys = _fetched(str(self._current_metadata().get("jwks_uri")))
                self._keys_since = time.time()
            return KeySet.import_key_set(cast(Any, self._keys))

    def _current_metadata(self) -> dict[str, Any]:
        if time.time() > self._metadata_until:
            metadata = _fetched(self._issuer + "/.well-known/openid-configuration")
            if metadata.get("issuer") != self._issuer:
                raise UnreadableAnswer("The address is not the issuer's own; check the issuer.")
            self._metadata, self._metadata_until = metadata, time.time() + METADATA_LIFETIME
        return self._metadata


def _fetched(address: str) -> dict[str, Any]:
    try:
        answer = requests.get(address, timeout=TIMEOUT, allow_redirects=False)
        value = answer.json() if answer.status_code == 200 else None
    except requests.JSONDecodeError:
        value = None
    except requests.RequestException:
        raise ServiceAway("The identity service cannot be reached.") from None
    if not isinstance(value, dict):
        raise UnreadableAnswer("The address is not that of an identity service.")
    return value


def _same(one: str | None, other: str | None) -> bool:
    return bool(one and other) and hmac.compare_digest(str(one).encode(), str(other).encode())


def _invalid(message: str) -> SignInRefused:
    return SignInRefused("invalid_answer", message)
