"""Signing out at the service: the contract's `/logout?next=` and RP-initiated logout 1.0.

    `next`, or nothing that follows       sign out at once; on to `next` where it may be followed
    a valid id_token_hint of this person  sign out at once; on to a registered address
    anything else of it                   ask the person, on a form bound to their session

A hint that was altered, or an address that is not registered, is shown on our own page and nothing
happens: nobody is sent to an address that is not an active application's.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from flask import current_app, redirect, request, url_for
from flask_login import login_url
from werkzeug.wrappers import Response

from idsync.applications.application import Application
from idsync.applications.registry import Applications
from idsync.crypto.references import ReferenceSigner
from idsync.machine import request_body
from idsync.oauth import errors
from idsync.oauth.id_token_hint import Hint, read_hint
from idsync.oauth.pages import Pages
from idsync.oauth.redirect import add_query
from idsync.oauth.signing_keys import SigningKeys
from idsync.parameters import (
    LONGEST_INPUT,
    UnreadableParameters,
    read_parameters,
    single_values,
)
from idsync.signin.browser import BrowserSessions
from idsync.signin.sessions import SignedIn

RP_INITIATED = frozenset(
    "id_token_hint post_logout_redirect_uri state client_id logout_hint ui_locales".split()
)


@dataclass(frozen=True, slots=True)
class LogoutRequest:
    """An RP-initiated logout after its checks. `address`: where to go afterwards."""

    address: str | None
    subject: str | None


def may_follow(address: str, redirect_uris: Iterable[str]) -> bool:
    """Whether `next` may be followed: http(s), to the host of one of these addresses.

    Browsers read odd addresses more kindly than parsers do, so what is odd is refused: user
    information, backslashes, white space, control characters, other than ASCII.
    """
    if not address.isascii() or not address.isprintable() or any(c in address for c in "\\@ "):
        return False
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return False
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return False
    if not address.lower().startswith((f"{parts.scheme}://{parts.netloc}").lower()):
        return False
    hosts = {urlsplit(uri).hostname for uri in redirect_uris if uri.lower().startswith("http")}
    return parts.hostname in hosts


class LogoutEndpoint:
    """GET and POST /logout."""

    def __init__(
        self,
        *,
        applications: Applications,
        signing_keys: SigningKeys,
        browser: BrowserSessions,
        pages: Pages,
        keys: tuple[bytes, ...],
        issuer: Any,
    ) -> None:
        self._applications = applications
        self._signing_keys = signing_keys
        self._browser = browser
        self._pages = pages
        self._issuer = issuer
        self._forms = ReferenceSigner(keys, "idsync logout form")

    def __call__(self) -> Response:
        """Sign the person out, or ask first."""
        parameters = _parameters()
        if request.method == "POST" and "confirm" not in parameters:
            # Another site's POST comes without our cookie (SameSite); the GET it leads to has it.
            return redirect(add_query(url_for("idsync.logout"), parameters), 303)
        if "next" in parameters or not parameters.keys() & RP_INITIATED:
            return self._sign_out(self._followed(parameters.get("next", "")))
        wanted = self._check(parameters)
        person = self._browser.current()
        if (
            person is None
            or self._is_certain(wanted, person)
            or self._confirmed(parameters, person)
        ):
            return self._sign_out(wanted.address)
        hidden = {name: parameters[name] for name in RP_INITIATED & parameters.keys()}
        form = self._forms.sign(person.public_id.encode())
        return self._pages.logout(account=person.account, hidden=hidden, confirm=form)

    def sign_out_to(self, address: str) -> Response:
        """For a host's own view: sign out, and on to `address` where it may be followed."""
        return self._sign_out(self._followed(address))

    def _sign_out(self, address: str | None) -> Response:
        self._browser.sign_out()
        if address is not None:
            return redirect(address, 303)
        # Without `next`: signing in must not lead back here, and out again.
        login_view = current_app.login_manager.login_view  # type: ignore[attr-defined]
        return redirect(login_url(login_view) if login_view else self._pages.home() or "/", 303)

    def _followed(self, address: str) -> str | None:
        if not address:
            return None
        registered = (
            uri
            for application in self._applications.all()
            if application.active
            for uri in application.redirect_uris
        )
        return address if may_follow(address, registered) else None

    def _check(self, parameters: dict[str, str]) -> LogoutRequest:
        """RP-initiated logout 1.0 §2 and §3. Raises PageError."""
        hint = parameters.get("id_token_hint")
        named = None if hint is None else self._read_hint(hint)
        client_id = parameters.get("client_id") or (named and named.client_id)
        if named is not None and client_id != named.client_id:
            raise errors.UnusableHint
        application = self._applications.find(client_id) if client_id else None
        address = parameters.get("post_logout_redirect_uri")
        if address is not None:
            if not _is_registered(application, address):
                raise errors.UnregisteredLogoutURI
            address = add_query(address, {"state": parameters.get("state")})
        # A hint of an application that is switched off is as good as none: the person is asked.
        known = named is not None and application is not None and application.active
        return LogoutRequest(address, named.subject if named is not None and known else None)

    def _read_hint(self, text: str) -> Hint:
        hint = read_hint(text, self._signing_keys, self._issuer())
        if hint is None:
            raise errors.UnusableHint
        return hint

    def _is_certain(self, wanted: LogoutRequest, person: SignedIn) -> bool:
        return wanted.subject == person.account.subject

    def _confirmed(self, parameters: dict[str, str], person: SignedIn) -> bool:
        payload = self._forms.read(parameters.get("confirm", ""))
        return payload is not None and hmac.compare_digest(payload, person.public_id.encode())


def _is_registered(application: Application | None, address: str) -> bool:
    return (
        application is not None
        and application.active
        and address in application.post_logout_redirect_uris
    )


def _parameters() -> dict[str, str]:
    raw = request_body(LONGEST_INPUT) if request.method == "POST" else request.query_string
    try:
        return single_values(read_parameters(raw))
    except UnreadableParameters:
        raise errors.UnreadableRequest from None
