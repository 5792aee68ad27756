"""What the OpenID Foundation's suite does in every module: authorize, exchange, verify.

Nothing here needs pytest. The checks are those the suite makes of every answer.
"""

import hashlib
import json
import secrets
import time
from base64 import urlsafe_b64encode
from typing import Any
from urllib.parse import parse_qs, urlsplit

from flask import Flask
from joserfc import jwt
from joserfc.jwk import KeySet
from werkzeug.test import TestResponse

import hosting

BYE = "https://app.example.org/post_logout_redirect"


class Suite:
    """The suite with its browser, two clients registered by hand, and somebody to sign in."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self.browser = app.test_client()
        self.server = app.test_client(use_cookies=False)
        self.person = hosting.add_person(app)
        bye = ("--post-logout-redirect-uri", BYE)
        self.client = hosting.register_application(app, "Conformance 1", *bye)
        self.second_client = hosting.register_application(app, "Conformance 2", *bye)
        self.sign_in_pages = 0
        self.metadata = self.server.get("/.well-known/openid-configuration").json

    # --- authorize -------------------------------------------------------------------------------

    def request(self, client: hosting.Client | None = None, **parameters: str) -> dict[str, str]:
        """The parameters of an authorization request."""
        client = client or self.client
        return {
            "client_id": client.client_id,
            "redirect_uri": client.redirect_uri,
            "scope": "openid",
            "state": secrets.token_urlsafe(8),
            "nonce": secrets.token_urlsafe(8),
            "response_type": "code",
            **parameters,
        }

    def address(self, request: dict[str, str]) -> TestResponse:
        """What the browser is first answered."""
        return self.browser.get("/oauth/authorize", query_string=request)

    def authorize(self, request: dict[str, str], first: TestResponse | None = None) -> Any:
        """Sign in and agree where asked; the parameters the client was called back with."""
        response = hosting.follow(self.browser, first or self.address(request))
        self.sign_in_pages = 0
        if 'name="password"' in response.text:
            self.sign_in_pages += 1
            address = response.request.full_path
            response = hosting.sign_in(self.browser, self.person, address=address)
            response = hosting.follow(self.browser, response)
        if 'name="decision"' in response.text:
            response = hosting.decide(self.browser, response.request.full_path)
        return self.called_back(response, request)

    def called_back(self, response: TestResponse, request: dict[str, str]) -> dict[str, str]:
        """The answer in the redirect: once each, with our state and the issuer."""
        location = response.headers["Location"]
        assert location.startswith(request["redirect_uri"] + "?")
        given = parse_qs(urlsplit(location).query, strict_parsing=True)
        answer = {name: value for name, (value,) in given.items()}
        assert answer["state"] == request["state"]
        assert answer["iss"] == self.metadata["issuer"]
        assert not urlsplit(location).fragment
        expected = {"code"} if "code" in answer else {"error", "error_description"}
        assert set(answer) == {"state", "iss"} | expected
        return answer

    # --- token, id_token, userinfo ---------------------------------------------------------------

    def redeem(self, code: str, client: hosting.Client | None = None, **more: str) -> TestResponse:
        """Exchange a code, with the secret in the header."""
        client = client or self.client
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": client.redirect_uri,
            **more,
        }
        return self.server.post("/oauth/token", data=form, auth=client.basic)

    def tokens(self, answer: TestResponse) -> Any:
        """A token answer, checked (RFC 6749 §5.1)."""
        assert answer.status_code == 200
        assert answer.mimetype == "application/json"
        assert answer.headers["Cache-Control"] == "no-store"
        tokens = answer.json
        assert tokens["token_type"].lower() == "bearer"
        assert isinstance(tokens["expires_in"], int)
        assert len(tokens["access_token"]) > 40
        return tokens

    def claims(
        self, tokens: Any, nonce: str | None = None, client: hosting.Client | None = None
    ) -> Any:
        """The claims of an id_token, checked (Core §3.1.3.7)."""
        jwks = self.server.get(urlsplit(self.metadata["jwks_uri"]).path).json
        published = KeySet.import_key_set(jwks)
        token = jwt.decode(
            tokens["id_token"],
            published,
            algorithms=self.metadata["id_token_signing_alg_values_supported"],
        )
        assert token.header["alg"] == "RS256"
        assert token.header["kid"] in {key["kid"] for key in jwks["keys"]}
        claims, now = token.claims, time.time()
        assert claims["iss"] == self.metadata["issuer"]
        assert claims["aud"] == (client or self.client).client_id
        assert now - 60 < claims["iat"] <= now + 5
        assert claims["iat"] < claims["exp"]
        assert claims.get("nonce") == nonce
        assert isinstance(claims["auth_time"], int)
        half = hashlib.sha256(tokens["access_token"].encode()).digest()[:16]
        assert claims["at_hash"] == urlsafe_b64encode(half).rstrip(b"=").decode()
        return claims

    def userinfo(self, tokens: Any) -> Any:
        """Userinfo by GET."""
        bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
        return self.checked_userinfo(self.server.get("/oauth/userinfo", headers=bearer))

    def checked_userinfo(self, answer: TestResponse) -> Any:
        """The claims in an answer of userinfo."""
        assert answer.status_code == 200
        assert answer.mimetype == "application/json"
        assert answer.json["sub"] == self.person.id
        return answer.json

    def sign_in(self, **parameters: str) -> tuple[Any, Any]:
        """A whole sign-in: the token answer and the id_token's claims."""
        request = self.request(**parameters)
        return self.finish(self.authorize(request), request)

    def finish(self, answer: Any, request: dict[str, str]) -> tuple[Any, Any]:
        """The rest of a sign-in, from the code on."""
        tokens = self.tokens(self.redeem(answer["code"]))
        claims = self.claims(tokens, request.get("nonce"))
        assert self.userinfo(tokens)["sub"] == claims["sub"]
        return tokens, claims

    def is_signed_in(self) -> bool:
        """Whether prompt=none succeeds."""
        request = self.request(prompt="none")
        answer = self.called_back(self.address(request), request)
        assert answer.get("error", "login_required") == "login_required"
        return "code" in answer


def unsigned(claims: dict[str, str]) -> str:
    """A token with `alg: none`."""
    parts = ({"alg": "none"}, claims)
    return (
        ".".join(
            urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts
        )
        + "."
    )
