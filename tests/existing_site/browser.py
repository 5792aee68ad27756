"""A browser without a window, and an application that signs people in: over HTTP or straight WSGI.

What a browser shows, sends and follows is all that these know of a site.
"""

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import requests
from joserfc import jwt
from joserfc.jwk import KeySet
from werkzeug.test import Client as WsgiClient

from hosting import hidden_fields

LONGEST_WAIT = 30  # seconds for an answer of a server that is still starting


@dataclass(frozen=True)
class Answer:
    """What came back from `url`."""

    url: str
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def location(self) -> str:
        return urljoin(self.url, self.headers.get("Location", ""))

    @property
    def json(self) -> Any:
        return json.loads(self.text)


Send = Callable[[str, str, Mapping[str, str] | None, Mapping[str, str]], Answer]


def over_http(session: requests.Session) -> Send:
    """Send requests to a running server, with the session's cookies."""

    def send(
        method: str, url: str, form: Mapping[str, str] | None, headers: Mapping[str, str]
    ) -> Answer:
        answer = session.request(
            method, url, data=form, headers=headers, allow_redirects=False, timeout=LONGEST_WAIT
        )
        return Answer(url, answer.status_code, answer.headers, answer.text)

    return send


def over_wsgi(application: Any, **always: str) -> Send:
    """Call a WSGI application in this process; `always` are headers that a proxy adds."""
    client = WsgiClient(application)

    def send(
        method: str, url: str, form: Mapping[str, str] | None, headers: Mapping[str, str]
    ) -> Answer:
        parts = urlsplit(url)
        answer = client.open(
            f"{parts.path}?{parts.query}",
            base_url=f"{parts.scheme}://{parts.netloc}",
            method=method,
            data=form,
            headers={**headers, **always},
        )
        return Answer(url, answer.status_code, answer.headers, answer.text)

    return send


class Browser:
    """Follows links within the site at `address` and fills in its forms; `send` keeps cookies."""

    def __init__(
        self, address: str, send: Send, restart: Callable[[], None] = lambda: None
    ) -> None:
        self.address = address
        self._send = send
        self.restart = restart
        """Close it and open it again: only cookies with an expiry are still there."""

    def get(self, path: str) -> Answer:
        return self._follow(self._send("GET", urljoin(self.address, path), None, {}))

    def submit(self, page: Answer, **fields: str) -> Answer:
        """Send the form of a page as a person filled it in."""
        action = re.search(r'<form[^>]* action="([^"]*)"', page.text)
        address = urljoin(page.url, action[1]) if action else page.url
        return self.post(address, {**hidden_fields(page.text), **fields}, referer=page.url)

    def post(self, address: str, form: Mapping[str, str], *, referer: str) -> Answer:
        """Send a form that this page, of whatever site, has."""
        return self._follow(self._send("POST", address, form, {"Referer": referer}))

    def sign_in(self, page: Answer | str, mail: str, password: str, **fields: str) -> Answer:
        """Fill in the sign-in page, which is given or opened."""
        if isinstance(page, str):
            page = self.get(page)
        return self.submit(page, mail=mail, password=password, **fields)

    def _follow(self, answer: Answer) -> Answer:
        origin = urlsplit(self.address)[:2]
        for _ in range(10):
            if "Location" not in answer.headers or urlsplit(answer.location)[:2] != origin:
                return answer
            answer = self._send("GET", answer.location, None, {})
        raise AssertionError(f"the redirects do not end: {answer.location}")


@dataclass(frozen=True)
class Wiki:
    """An application registered at the site, with what it learned from the discovery document.

    `send` has no cookies: it is the application's server calling.
    """

    send: Send
    provider: Mapping[str, Any]
    client_id: str
    client_secret: str
    redirect_uri: str
    scope: str = "openid profile email offline_access"

    @classmethod
    def discover(cls, send: Send, issuer: str, **credentials: str) -> "Wiki":
        provider = send("GET", f"{issuer}/.well-known/openid-configuration", None, {})
        assert provider.json["issuer"] == issuer
        return cls(send, provider.json, **credentials)

    def start(self, **parameters: str) -> "SignIn":
        """Begin a sign-in."""
        return SignIn(self, secrets.token_urlsafe(), secrets.token_urlsafe(40), parameters)

    def refresh(self, tokens: Mapping[str, Any]) -> Answer:
        return self._token(grant_type="refresh_token", refresh_token=tokens["refresh_token"])

    def userinfo(self, tokens: Mapping[str, Any]) -> Answer:
        headers = {"Authorization": f"Bearer {tokens['access_token']}"}
        return self.send("GET", self.provider["userinfo_endpoint"], None, headers)

    def redeem(self, code: str, verifier: str) -> Answer:
        return self._token(
            grant_type="authorization_code",
            code=code,
            code_verifier=verifier,
            redirect_uri=self.redirect_uri,
        )

    def claims(self, id_token: str) -> dict[str, Any]:
        """The claims of an id_token, its signature checked with the published keys."""
        keys = KeySet.import_key_set(self.send("GET", self.provider["jwks_uri"], None, {}).json)
        token = jwt.decode(id_token, keys, algorithms=["RS256"])
        jwt.JWTClaimsRegistry(
            iss={"essential": True, "value": self.provider["issuer"]},
            aud={"essential": True, "value": self.client_id},
        ).validate(token.claims)
        return token.claims

    def _token(self, **form: str) -> Answer:
        basic = base64.b64encode(f"{self.client_id}:{self.client_secret}".encode()).decode()
        headers = {"Authorization": f"Basic {basic}"}
        return self.send("POST", self.provider["token_endpoint"], form, headers)


@dataclass(frozen=True)
class SignIn:
    """One sign-in at the wiki, from its link to the tokens."""

    wiki: Wiki
    state: str
    verifier: str
    parameters: Mapping[str, str]

    @property
    def request(self) -> dict[str, str]:
        """The parameters of the authorization request."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return {
            "response_type": "code",
            "client_id": self.wiki.client_id,
            "redirect_uri": self.wiki.redirect_uri,
            "scope": self.wiki.scope,
            "state": self.state,
            "nonce": self.state[::-1],
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
            **self.parameters,
        }

    @property
    def address(self) -> str:
        """Where the wiki sends the person."""
        return f"{self.wiki.provider['authorization_endpoint']}?{urlencode(self.request)}"

    def come_back(self, answer: Answer) -> dict[str, str]:
        """What the person's browser brings back to the wiki."""
        location, _, query = answer.location.partition("?")
        assert location == self.wiki.redirect_uri, answer
        brought = {name: values[0] for name, values in parse_qs(query).items()}
        assert brought["state"] == self.state
        assert brought["iss"] == self.wiki.provider["issuer"]
        return brought

    def finish(self, answer: Answer) -> dict[str, Any]:
        """The tokens for the code that the browser brings back."""
        tokens = self.wiki.redeem(self.come_back(answer)["code"], self.verifier)
        assert tokens.status == 200, tokens
        assert self.wiki.claims(tokens.json["id_token"])["nonce"] == self.state[::-1]
        return tokens.json


def sign_in_at(wiki: Wiki, browser: Browser, mail: str, password: str) -> dict[str, Any]:
    """Sign in at the wiki as a person would, asked for whatever is needed; give the tokens."""
    sign_in = wiki.start()
    page = browser.get(sign_in.address)
    if 'name="password"' in page.text:
        page = browser.sign_in(page, mail, password)
    if 'name="decision"' in page.text:
        page = browser.submit(page, decision="allow")
    return sign_in.finish(page)
