"""What widely used client libraries do at token, userinfo and discovery, and with the id_token.

One test for each habit; each has broken one of them somewhere.
"""

from base64 import b64encode

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import text

import hosting
from clients.flow import (
    answer,
    code_form,
    get_code,
    refresh,
    token_of,
    tokens_of,
)
from host_app.models import db

# --- the token endpoint ------------------------------------------------------------------------


def test_basic_with_the_client_id_repeated_in_the_body(
    client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """At the exchange and at the refresh."""
    form = code_form(application, get_code(client, application, person))
    repeated = {"client_id": application.client_id}
    response = client.post("/oauth/token", data={**form, **repeated}, auth=application.basic)
    assert response.status_code == 200
    refresh(client, application, response.json["refresh_token"], **repeated)


def test_basic_at_the_exchange_and_the_secret_in_the_body_at_the_refresh(
    client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """Both ways work for every confidential application, whichever came first."""
    token = tokens_of(client, application, person)["refresh_token"]
    client_id, secret = application.basic
    fields = {"grant_type": "refresh_token", "refresh_token": token}
    in_body = {"client_id": client_id, "client_secret": secret}
    assert client.post("/oauth/token", data={**fields, **in_body}).status_code == 200


def test_basic_values_that_are_percent_encoded(
    client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """RFC 6749 §2.3.1 says so; one library encodes even what needs no encoding."""
    encoded = [
        "".join(one if one.isalnum() else f"%{ord(one):02X}" for one in value)
        for value in application.basic
    ]
    assert "%5F" in encoded[0]
    assert "%5F" in encoded[1]
    header = "Basic " + b64encode(":".join(encoded).encode()).decode()
    form = code_form(application, get_code(client, application, person))
    response = client.post("/oauth/token", data=form, headers={"Authorization": header})
    assert response.status_code == 200


def test_an_irrelevant_response_type_in_the_token_request(
    client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """Fields without a meaning here are ignored (RFC 6749 §3.2)."""
    form = code_form(application, get_code(client, application, person))
    more = {"response_type": "code", "scope": "openid", "audience": "x", "resource": ""}
    response = client.post("/oauth/token", data={**form, **more}, auth=application.basic)
    assert response.status_code == 200
    assert response.json["scope"] == application.scope


def test_the_requested_scopes_are_repeated_at_refresh_the_dropped_ones_too(
    app: Flask, client: FlaskClient, person: hosting.Person
) -> None:
    """Not granted is dropped silently, there as at authorize; unknown ones likewise."""
    application = hosting.register_application(app, scope="openid profile offline_access")
    requested = "openid profile email offline_access accounts calendar"
    tokens = tokens_of(client, application, person, scope=requested)
    assert tokens["scope"] == "openid profile offline_access"
    for _ in range(2):
        tokens = refresh(client, application, tokens["refresh_token"], scope=requested)
        assert tokens["scope"] == "openid profile offline_access"


def test_the_answer_names_exactly_the_granted_scopes(
    client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """Some clients compare; and a refresh token comes with `offline_access` only."""
    for requested, granted in {
        "openid profile": "openid profile",
        "profile": "openid profile",
        "openid email accounts": "openid email",
        "email  openid   email": "openid email",
        "": "openid",
    }.items():
        tokens = tokens_of(client, application, person, scope=requested)
        assert tokens["scope"] == granted
        assert "refresh_token" not in tokens


def test_a_refresh_with_fewer_scopes_names_those_and_the_next_one_all(
    client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """The narrower scope is that answer's: its userinfo too shows no more."""
    tokens = tokens_of(client, application, person)
    narrow = refresh(client, application, tokens["refresh_token"], scope="openid email")
    assert narrow["scope"] == "openid email"
    bearer = {"Authorization": f"Bearer {narrow['access_token']}"}
    userinfo = client.get("/oauth/userinfo", headers=bearer).json
    assert "email" in userinfo
    assert "name" not in userinfo
    assert "name" not in token_of(client, narrow["id_token"]).claims
    again = refresh(client, application, narrow["refresh_token"])
    assert again["scope"] == application.scope


def test_an_odd_state_comes_back_unchanged(
    app: Flask, application: hosting.Client, person: hosting.Person
) -> None:
    """With the code after sign-in and consent, and with an error."""
    for state in (
        "abc:def:https://app.example.org/after?a=1&b=2#top",
        "eyJhIjoiYiJ9.x+/=~",
        "%7B%22a%22%3A1%7D",
        'пароль {"ключ": "значение"}\\',
        "a b  c",
        "0",
    ):
        client = app.test_client()
        authorized = hosting.authorize(client, application, person, state=state)
        assert answer(authorized)["state"] == state
        wrong = client.get(hosting.authorize_path(application, state=state, response_type="token"))
        assert answer(wrong)["state"] == state


def test_a_client_that_sends_no_state_gets_none(
    client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """An empty one counts as none (RFC 6749 §3.1)."""
    assert set(answer(hosting.authorize(client, application, person, state=""))) == {"code", "iss"}


# --- id_token and discovery --------------------------------------------------------------------


def test_auth_time_stays_that_of_the_sign_in_at_every_refresh(
    app: Flask, client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """A client refuses a refresh whose auth_time changed (OpenID Connect Core §12.2)."""
    hosting.sign_in(client, person)
    with app.app_context():
        db.session.execute(text("UPDATE idsync_session SET auth_time = auth_time - 1000"))
        db.session.commit()
    tokens = tokens_of(client, application, person, nonce="n-1")
    first = token_of(client, tokens["id_token"]).claims
    assert 1000 <= first["iat"] - first["auth_time"] <= 1010
    for _ in range(2):
        tokens = refresh(client, application, tokens["refresh_token"])
        claims = token_of(client, tokens["id_token"]).claims
        for name in ("iss", "sub", "aud", "auth_time", "sid"):
            assert claims[name] == first[name]
        assert claims["iat"] >= first["iat"]
        assert "nonce" not in claims


def test_the_id_token_names_its_key_and_is_signed_with_rs256(
    client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """By default: it is what everyone expects. The key is among the published ones."""
    header = token_of(client, tokens_of(client, application, person)["id_token"]).header
    assert header["alg"] == "RS256"
    published = {key["kid"]: key for key in client.get("/oauth/jwks").json["keys"]}
    assert published[header["kid"]]["alg"] == "RS256"


def test_a_client_that_never_calls_userinfo_learns_the_person_from_the_id_token(
    client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """All claims of the granted scopes; without a scope its claims are missing."""
    tokens = tokens_of(client, application, person)
    claims = token_of(client, tokens["id_token"]).claims
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    userinfo = client.get("/oauth/userinfo", headers=bearer).json
    assert {"sub", "name", "roles", "updated_at", "email", "email_verified"} == userinfo.keys()
    assert userinfo.items() <= claims.items()
    assert (claims["name"], claims["email"]) == (person.name, person.email)
    bare = tokens_of(client, application, person, scope="openid")
    assert not {"name", "email"} & token_of(client, bare["id_token"]).claims.keys()


def test_the_issuer_is_in_every_answer_since_discovery_says_so(
    client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """With a code, with an error found at once, and with a refusal (RFC 9207)."""
    metadata = client.get("/.well-known/openid-configuration").json
    assert metadata["authorization_response_iss_parameter_supported"] is True
    path = hosting.authorize_path
    answers = [
        client.get(path(application, prompt="none")),
        client.get(path(application, response_type="token")),
        client.get(path(application, state="s" * 2000)),
        client.get(path(application, request="eyJ")),
    ]
    hosting.sign_in(client, person)
    answers += [
        client.get(path(application, prompt="none")),
        hosting.decide(client, path(application), "deny"),
        hosting.decide(client, path(application), "allow"),
    ]
    assert len({answer(each).get("error") for each in answers}) == len(answers)
    for each in answers:
        assert answer(each)["iss"] == metadata["issuer"]


# --- userinfo and CORS -------------------------------------------------------------------------


def test_userinfo_by_get_by_post_with_header_and_by_post_with_body(
    client: FlaskClient, application: hosting.Client, person: hosting.Person
) -> None:
    """The same answer each time; in the query a token is not looked at (RFC 9700 §4.3.2)."""
    token = tokens_of(client, application, person)["access_token"]
    bearer = {"Authorization": f"Bearer {token}"}
    answers = [
        client.get("/oauth/userinfo", headers=bearer),
        client.get("/oauth/userinfo", headers={"Authorization": f"bearer {token}"}),
        client.post("/oauth/userinfo", headers=bearer),
        client.post("/oauth/userinfo", headers=bearer, data={}),
        client.post("/oauth/userinfo", headers=bearer, json={}),
        client.post("/oauth/userinfo", data={"access_token": token}),
    ]
    for response in answers:
        assert response.status_code == 200
        assert response.json["sub"] == person.id
        assert response.headers["Cache-Control"] == "no-store"
    in_query = client.get("/oauth/userinfo", query_string={"access_token": token})
    assert in_query.status_code == 401


def test_a_browser_application_can_read_errors(
    client: FlaskClient, application: hosting.Client
) -> None:
    """CORS headers on 400, 401 and 405 as well, and `WWW-Authenticate` is exposed."""
    form = code_form(application, "ac_x")
    origin = {"Origin": "https://spa.example"}
    garbage = {"Authorization": "Bearer x", **origin}
    answers = {
        400: [
            client.post("/oauth/token", headers=origin),
            client.post("/oauth/token", headers=origin, data=form, auth=application.basic),
            client.post(
                "/oauth/userinfo", data={"access_token": "x"}, headers={**garbage, **origin}
            ),
        ],
        401: [
            client.post("/oauth/token", headers=origin, data=form, auth=("app_x", "y")),
            client.get("/oauth/userinfo", headers=origin),
            client.get("/oauth/userinfo", headers=garbage),
        ],
        405: [
            client.get("/oauth/token", headers=origin),
            client.delete("/oauth/userinfo", headers=origin),
            client.post("/.well-known/openid-configuration", headers=origin),
        ],
    }
    for status, responses in answers.items():
        for response in responses:
            assert response.status_code == status
            assert response.headers["Access-Control-Allow-Origin"] == "*"
            assert "Access-Control-Allow-Credentials" not in response.headers
            assert "WWW-Authenticate" in response.headers["Access-Control-Expose-Headers"]
            assert response.json["error"]
