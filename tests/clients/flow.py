"""Steps of an application that signs somebody in, with Flask's test client."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

from flask.testing import FlaskClient
from joserfc import jwt
from joserfc.jwk import KeySet
from werkzeug.test import TestResponse

import hosting

CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"  # RFC 7636, appendix B


def answer(response: TestResponse) -> dict[str, str]:
    """The parameters with which the person was sent back to the application."""
    assert response.status_code == 303
    assert response.headers["Location"].startswith(hosting.REDIRECT_URI + "?")
    query = parse_qs(urlsplit(response.headers["Location"]).query, strict_parsing=True)
    return {name: value for name, (value,) in query.items()}


def get_code(
    client: FlaskClient, application: hosting.Client, person: hosting.Person, **parameters: str
) -> str:
    return answer(hosting.authorize(client, application, person, **parameters))["code"]


def code_form(application: hosting.Client, code: str) -> dict[str, str]:
    return {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": application.redirect_uri,
    }


def redeem(client: FlaskClient, application: hosting.Client, code: str, **form: str) -> Any:
    """The whole answer to a code; an application that has no secret only says who it is."""
    fields = {**code_form(application, code), **form}
    if application.client_secret is None:
        return client.post("/oauth/token", data={"client_id": application.client_id, **fields})
    return client.post("/oauth/token", data=fields, auth=application.basic)


def tokens_of(
    client: FlaskClient, application: hosting.Client, person: hosting.Person, **parameters: str
) -> dict[str, Any]:
    code = get_code(client, application, person, **parameters)
    response = client.post(
        "/oauth/token", data=code_form(application, code), auth=application.basic
    )
    assert response.status_code == 200
    return dict(response.json)


def refresh(client: FlaskClient, application: hosting.Client, token: str, **form: str) -> Any:
    fields = {"grant_type": "refresh_token", "refresh_token": token, **form}
    response = client.post("/oauth/token", data=fields, auth=application.basic)
    assert response.status_code == 200
    return response.json


def token_of(client: FlaskClient, id_token: str) -> Any:
    keys = KeySet.import_key_set(client.get("/oauth/jwks").json)
    return jwt.decode(id_token, keys, algorithms=["RS256", "ES256"])
