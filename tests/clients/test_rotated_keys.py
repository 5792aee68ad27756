"""A client that caches keys while ours are rotated: Authlib's Flask integration."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any
from unittest import mock

import pytest
import requests
from authlib.integrations.flask_client import OAuth
from flask import Flask, session
from werkzeug.serving import make_server

import hosting
from idsync.oauth.signing_keys import ID_TOKEN_LIFETIME, KEPT_FOR, ROTATION_DELAY
from live import authorize

CALLBACK = "https://app.example.org/callback"


@contextmanager
def later(seconds: float) -> Iterator[None]:
    with mock.patch("time.time", return_value=time.time() + seconds):
        yield


@pytest.fixture
def service(database_url: str) -> Iterator[Flask]:
    """The host on a real port, in this process, so that its clock can be moved."""
    server = make_server("127.0.0.1", 0, None, threaded=True)
    address = f"http://localhost:{server.server_port}"
    app = server.app = hosting.make_host(database_url, IDSYNC_ISSUER=address)
    Thread(target=server.serve_forever, daemon=True).start()
    yield app
    server.shutdown()
    server.server_close()
    hosting.close_host(app)


class Site:
    """An application that signs people in with Authlib and keeps what it fetched."""

    def __init__(self, service: Flask, client: hosting.Client) -> None:
        self.app = Flask(__name__)
        self.app.secret_key = "x"
        self._issuer = service.config["IDSYNC_ISSUER"]
        self._client = OAuth(self.app).register(
            "idsync",
            client_id=client.client_id,
            client_secret=client.client_secret,
            server_metadata_url=self._issuer + "/.well-known/openid-configuration",
            client_kwargs={"scope": "openid profile", "code_challenge_method": "S256"},
        )

    def sign_in(self, browser: requests.Session, person: hosting.Person) -> Any:
        """What the library makes of a whole sign-in: it verifies the id_token itself."""
        with self.app.test_request_context():
            address = self._client.create_authorization_url(CALLBACK)
            self._client.save_authorize_data(redirect_uri=CALLBACK, **address)
            called_back = authorize(browser, address["url"], person)
            kept = dict(session)
        with self.app.test_request_context(called_back.removeprefix("https://app.example.org")):
            session.update(kept)
            return self._client.authorize_access_token()

    def verify(self, token: Any) -> Any:
        """Look at an id_token got earlier, with the keys that are cached."""
        with self.app.test_request_context():
            claims = self._client.parse_id_token(token, nonce=token["userinfo"]["nonce"])
            return claims["sub"]

    def cached(self) -> set[str]:
        return {key["kid"] for key in self._client.server_metadata["jwks"]["keys"]}


def test_a_client_that_caches_keys_never_fails_to_verify(service: Flask) -> None:
    """Before, during and long after a rotation; a token signed with the old key keeps its hour."""
    person = hosting.add_person(service)
    client = hosting.register_application(service, "Site", "--first-party")
    early, late = Site(service, client), Site(service, client)
    keys = service.extensions["idsync"].signing_keys

    def sign_in(site: Site) -> Any:
        with requests.Session() as browser:
            token = site.sign_in(browser, person)
        assert token["userinfo"]["sub"] == person.id
        return token

    before = sign_in(early)
    hosting.run(service, "idsync", "keys", "rotate")
    sign_in(late)
    with service.app_context():
        (newest,) = [
            row["kid"]
            for row in keys.public_rows()
            if row["state"] == "next" and row["algorithm"] == "RS256"
        ]
    # Who fetches the keys before they sign has them already; who does not, fetches by `kid`.
    assert newest in late.cached()
    assert newest not in early.cached()
    with later(ROTATION_DELAY + 5):
        for site in (late, early):
            sign_in(site)
        assert newest in early.cached()
        assert early.verify(before) == person.id
    fresh = Site(service, client)
    with later(ID_TOKEN_LIFETIME - 5):
        sign_in(fresh)
        assert fresh.verify(before) == person.id  # by the key that signs no more
    with later(ROTATION_DELAY + KEPT_FOR + 120):
        sign_in(Site(service, client))
