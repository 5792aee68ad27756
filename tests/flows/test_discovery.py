"""The discovery documents and the published keys."""

from flask import Flask
from flask.testing import FlaskClient

import hosting


def test_both_documents_say_the_same(app: Flask, client: FlaskClient) -> None:
    """OpenID Connect Discovery and RFC 8414; every address in them answers."""
    metadata = client.get("/.well-known/openid-configuration").json
    assert client.get("/.well-known/oauth-authorization-server").json == metadata
    assert metadata["issuer"] == hosting.ISSUER
    assert metadata["code_challenge_methods_supported"] == ["S256"]
    assert metadata["response_types_supported"] == ["code"]
    assert metadata["authorization_response_iss_parameter_supported"] is True
    assert "accounts" not in metadata["scopes_supported"]
    for name in ("authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"):
        assert metadata[name].startswith(hosting.ISSUER + "/oauth/")
        path = metadata[name].removeprefix(hosting.ISSUER)
        assert client.get(path).status_code != 404


def test_published_keys_hold_nothing_private(app: Flask, client: FlaskClient) -> None:
    """One RSA and one EC key at first, the same at every look."""
    keys = client.get("/oauth/jwks").json["keys"]
    assert sorted(key["alg"] for key in keys) == ["ES256", "RS256"]
    for key in keys:
        assert key["use"] == "sig"
        assert key["kid"]
        assert not {"d", "p", "q", "dp", "dq", "qi", "k"} & key.keys()
    assert client.get("/oauth/jwks").json["keys"] == keys


def test_any_origin_may_read_machine_answers_without_cookies(
    app: Flask, client: FlaskClient
) -> None:
    """CORS on answers, on errors and on preflights; never with credentials; not on pages."""
    application = hosting.register_application(app)
    origin = {"Origin": "https://spa.example"}
    answers = [
        client.get("/.well-known/openid-configuration", headers=origin),
        client.get("/oauth/jwks", headers=origin),
        client.post("/oauth/token", headers=origin, data={"grant_type": "x"}),
        client.post("/oauth/token", headers=origin, data={"client_id": application.client_id}),
        client.get("/oauth/userinfo", headers=origin),
        client.get("/oauth/token", headers=origin),
    ]
    for response in answers:
        assert response.headers["Access-Control-Allow-Origin"] == "*"
        assert "Access-Control-Allow-Credentials" not in response.headers
    for path in ("/oauth/token", "/oauth/userinfo", "/oauth/jwks"):
        preflight = client.options(path, headers=origin)
        assert preflight.status_code == 204
        assert "Authorization" in preflight.headers["Access-Control-Allow-Headers"]
    page = client.get(hosting.authorize_path(application), headers=origin)
    assert "Access-Control-Allow-Origin" not in page.headers
