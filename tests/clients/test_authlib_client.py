"""Authlib's own client against the running service: discovery, PKCE, userinfo, refresh."""

import hashlib
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import requests
from authlib.integrations.requests_client import OAuth2Session, OAuthError
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata
from authlib.oidc.discovery import OpenIDProviderMetadata
from joserfc import jwt
from joserfc.jwk import KeySet

import hosting
from live import LiveHost, authorize, visit

VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
NONCE = "n-0S6_WzA2Mj"
BYE = "https://app.example.org/bye"

AUTHENTICATION = {
    "client_secret_basic": (),
    "client_secret_post": (),
    "none": ("--public",),
}
"""How the client names itself at the token endpoint, and the options it is registered with."""

LEEWAY = 2  # seconds that two clocks may be apart, one of them rounded


@pytest.fixture(params=AUTHENTICATION)
def authentication(request: pytest.FixtureRequest) -> str:
    """A method of client authentication."""
    return str(request.param)


@pytest.fixture(params=["RS256", "ES256"])
def algorithm(request: pytest.FixtureRequest) -> str:
    """What signs the id_token."""
    return str(request.param)


@pytest.fixture
def metadata(service: LiveHost) -> dict[str, Any]:
    """What discovery says."""
    return dict(get(service.url + "/.well-known/openid-configuration"))


@pytest.fixture
def application(service: LiveHost, authentication: str, algorithm: str) -> hosting.Client:
    """An application of its own for each test."""
    bye = ("--post-logout-redirect-uri", BYE)
    options = (*bye, "--id-token-alg", algorithm, *AUTHENTICATION[authentication])
    return hosting.register_application(service.app, "Authlib", *options)


@pytest.fixture
def client(application: hosting.Client, authentication: str) -> Iterator[OAuth2Session]:
    """Authlib's client as an application would make it."""
    with OAuth2Session(
        application.client_id,
        application.client_secret,
        scope=application.scope,
        redirect_uri=application.redirect_uri,
        token_endpoint_auth_method=authentication,
        code_challenge_method="S256",
    ) as session:
        yield session


def get(address: str, **options: Any) -> dict[str, Any]:
    answer = requests.get(address, timeout=10, **options)
    assert answer.status_code == 200
    return dict(answer.json())


def verified(id_token: str, metadata: dict[str, Any], client_id: str, nonce: str | None) -> Any:
    """The claims of an id_token, checked as OpenID Connect Core §3.1.3.7 says."""
    keys = KeySet.import_key_set(get(metadata["jwks_uri"]))  # type: ignore[arg-type]
    token = jwt.decode(id_token, keys, algorithms=metadata["id_token_signing_alg_values_supported"])
    required = {
        "iss": {"essential": True, "value": metadata["issuer"]},
        "aud": {"essential": True, "value": client_id},
        "sub": {"essential": True},
        "exp": {"essential": True},
        "iat": {"essential": True},
    }
    jwt.JWTClaimsRegistry(leeway=LEEWAY, **required).validate(token.claims)
    assert token.claims.get("nonce") == nonce
    assert token.header["kid"] in {key.kid for key in keys.keys}
    return token


def half_hash(access_token: str) -> str:
    """at_hash (Core §3.1.3.6), worked out anew; both algorithms hash with SHA-256."""
    half = hashlib.sha256(access_token.encode("ascii")).digest()[:16]
    return urlsafe_b64encode(half).rstrip(b"=").decode("ascii")


def test_discovery_is_what_authlib_takes_for_valid(metadata: dict[str, Any]) -> None:
    """Both documents pass Authlib's own checks, apart from https, which loopback does without."""
    for document in (OpenIDProviderMetadata(metadata), AuthorizationServerMetadata(metadata)):
        for name in document.REGISTRY_KEYS:
            if name != "issuer" and not name.endswith(("_endpoint", "_uri")):
                getattr(document, f"validate_{name}")()


def test_sign_in_userinfo_refresh_and_logout(
    service: LiveHost,
    resident: hosting.Person,
    browser: requests.Session,
    metadata: dict[str, Any],
    application: hosting.Client,
    client: OAuth2Session,
    algorithm: str,
) -> None:
    """The whole way of an application that uses this library."""
    address, state = client.create_authorization_url(
        metadata["authorization_endpoint"], code_verifier=VERIFIER, nonce=NONCE
    )
    assert parse_qs(urlsplit(address).query)["code_challenge_method"] == ["S256"]
    called_back = authorize(browser, address, resident)
    assert called_back.startswith(application.redirect_uri + "?")
    assert parse_qs(urlsplit(called_back).query)["iss"] == [metadata["issuer"]]

    before = int(time.time())
    tokens = client.fetch_token(
        metadata["token_endpoint"],
        authorization_response=called_back,
        state=state,
        code_verifier=VERIFIER,
    )
    assert (tokens["token_type"], tokens["expires_in"]) == ("Bearer", 3600)
    assert tokens["scope"] == application.scope

    id_token = verified(tokens["id_token"], metadata, application.client_id, NONCE)
    assert id_token.header["alg"] == algorithm
    assert id_token.claims["at_hash"] == half_hash(tokens["access_token"])
    assert id_token.claims["sub"] == resident.id
    assert id_token.claims["name"] == resident.name
    assert before - LEEWAY <= id_token.claims["iat"] <= time.time() + LEEWAY

    userinfo = {"sub": resident.id, "name": resident.name, "email": resident.email}
    answers = [
        client.get(metadata["userinfo_endpoint"]),
        client.post(metadata["userinfo_endpoint"]),
        requests.post(
            metadata["userinfo_endpoint"],
            data={"access_token": tokens["access_token"]},
            timeout=10,
        ),
    ]
    for answer in answers:
        assert answer.status_code == 200
        assert userinfo.items() <= answer.json().items()

    refreshed = client.refresh_token(metadata["token_endpoint"])
    assert refreshed["refresh_token"] != tokens["refresh_token"]
    again = verified(refreshed["id_token"], metadata, application.client_id, None)
    assert again.claims["at_hash"] == half_hash(refreshed["access_token"])
    for name in ("iss", "sub", "aud", "auth_time", "sid"):
        assert again.claims[name] == id_token.claims[name]
    answer = client.get(metadata["userinfo_endpoint"])
    assert userinfo.items() <= answer.json().items()

    assert client.revoke_token(metadata["revocation_endpoint"], refreshed["refresh_token"]).ok
    assert client.get(metadata["userinfo_endpoint"]).status_code == 401
    logout = f"{metadata['end_session_endpoint']}?" + urlencode(
        {"id_token_hint": refreshed["id_token"], "post_logout_redirect_uri": BYE, "state": "s-1"}
    )
    assert visit(browser, logout).headers["Location"] == f"{BYE}?state=s-1"
    assert 'name="password"' in visit(browser, address).text


def test_an_error_reaches_the_client_as_its_own_exception(
    resident: hosting.Person,
    browser: requests.Session,
    metadata: dict[str, Any],
    client: OAuth2Session,
) -> None:
    """A verifier that is not the challenge's: the library raises the error our answer names."""
    address, state = client.create_authorization_url(
        metadata["authorization_endpoint"], code_verifier=VERIFIER
    )
    called_back = authorize(browser, address, resident)
    with pytest.raises(OAuthError) as refused:
        client.fetch_token(
            metadata["token_endpoint"],
            authorization_response=called_back,
            state=state,
            code_verifier=VERIFIER[::-1],
        )
    assert refused.value.error == "invalid_grant"
