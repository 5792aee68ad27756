"""The configuration plan: what discovery must say, and that it is true."""

from urllib.parse import urlsplit

from conformance.suite import Suite

REQUIRED = (
    "issuer authorization_endpoint token_endpoint jwks_uri response_types_supported "
    "subject_types_supported id_token_signing_alg_values_supported"
).split()


def test_oidcc_discovery_endpoint_verification(suite: Suite) -> None:
    """OpenID Connect Discovery 1.0 §3 and §4.2: required members, sound keys, JSON."""
    answer = suite.server.get("/.well-known/openid-configuration")
    assert answer.status_code == 200
    assert answer.mimetype == "application/json"
    metadata = answer.json
    assert set(REQUIRED) <= metadata.keys()
    assert metadata["issuer"] + "/.well-known/openid-configuration" == answer.request.url
    assert metadata["response_types_supported"] == ["code"]
    assert metadata["response_modes_supported"] == ["query"]
    assert metadata["grant_types_supported"] == ["authorization_code", "refresh_token"]
    assert metadata["subject_types_supported"] == ["public"]
    assert "RS256" in metadata["id_token_signing_alg_values_supported"]
    assert "openid" in metadata["scopes_supported"]
    assert "sub" in metadata["claims_supported"]
    assert metadata["claim_types_supported"] == ["normal"]
    assert metadata["display_values_supported"] == ["page"]
    assert metadata["ui_locales_supported"] == ["en", "ru"]
    for name in ("claims", "request", "request_uri"):
        assert metadata[f"{name}_parameter_supported"] is False
    for name, value in metadata.items():
        assert value not in ([], "", None), name
        if name.endswith(("_endpoint", "_uri")):
            assert suite.server.get(urlsplit(value).path).status_code != 404
    for key in suite.server.get(urlsplit(metadata["jwks_uri"]).path).json["keys"]:
        assert {"kty", "kid", "use", "alg"} <= key.keys()
        assert not {"d", "p", "q", "dp", "dq", "qi", "oth", "k"} & key.keys()
