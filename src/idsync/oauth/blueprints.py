"""Where the OAuth endpoints are put together: addresses, methods, manners.

Two blueprints: `idsync_machine` for programs (exempt from the host's CSRF protection: nothing there
trusts a cookie) and `idsync` for people.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from flask import Blueprint, current_app, g
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.wrappers import Response as WerkzeugResponse

from idsync.crypto.references import ReferenceTooLong
from idsync.database import DatabaseSession
from idsync.errors import ServiceUnavailable, TooManyTries
from idsync.machine import ALL_METHODS, RETRY_AFTER, UnreadableBody, endpoint, recovering
from idsync.oauth import errors
from idsync.oauth.authorize import AuthorizeEndpoint, RedirectNow
from idsync.oauth.discovery import DiscoveryEndpoint, JwksEndpoint
from idsync.oauth.logout import LogoutEndpoint
from idsync.oauth.pages import Pages
from idsync.oauth.revocation import RevocationEndpoint
from idsync.oauth.token import TokenEndpoint, error_body
from idsync.oauth.userinfo import UserinfoEndpoint
from idsync.settings import Settings

MACHINE = "idsync_machine"
PAGES = "idsync"

DISCOVERED = {
    "authorization_endpoint": f"{PAGES}.authorize",
    "token_endpoint": f"{MACHINE}.token",
    "userinfo_endpoint": f"{MACHINE}.userinfo",
    "jwks_uri": f"{MACHINE}.jwks",
    "revocation_endpoint": f"{MACHINE}.revoke",
    "end_session_endpoint": f"{PAGES}.logout",
}
"""Metadata name of each endpoint that the discovery documents announce."""


def machine_blueprint(
    settings: Settings,
    session: DatabaseSession,
    *,
    token: TokenEndpoint,
    userinfo: UserinfoEndpoint,
    revoke: RevocationEndpoint,
    jwks: JwksEndpoint,
    discovery: DiscoveryEndpoint,
) -> Blueprint:
    """Token, userinfo, revocation, keys and discovery; callable from browsers of any origin."""
    blueprint = Blueprint(MACHINE, __name__)

    def add(path: str, name: str, view: Any, *methods: str) -> None:
        # Endpoint objects have no __name__ for functools.wraps; it copies what there is.
        wrapped = endpoint(
            view, session=session, methods=methods, error_body=error_body, any_origin=True
        )
        blueprint.add_url_rule(path, name, wrapped, methods=ALL_METHODS)

    add(settings.token_path, "token", token, "POST")
    add(settings.userinfo_path, "userinfo", userinfo, "GET", "POST")
    add(settings.revoke_path, "revoke", revoke, "POST")
    add(settings.jwks_path, "jwks", jwks, "GET", "HEAD")
    add("/.well-known/openid-configuration", "openid_configuration", discovery, "GET", "HEAD")
    add("/.well-known/oauth-authorization-server", "server_metadata", discovery, "GET", "HEAD")
    return blueprint


def pages_blueprint(
    settings: Settings,
    session: DatabaseSession,
    *,
    authorize: AuthorizeEndpoint,
    logout: LogoutEndpoint,
    pages: Pages,
) -> Blueprint:
    """Authorize, consent and logout, with the library's templates and style sheet."""
    blueprint = Blueprint(
        PAGES,
        "idsync",
        template_folder="templates",
        static_folder="static",
        static_url_path=settings.static_path,
    )
    _answer_too_many_tries(blueprint, pages)

    def add(path: str, name: str, view: Callable[[], WerkzeugResponse], *methods: str) -> None:
        blueprint.add_url_rule(path, name, _page_view(view, session, pages), methods=list(methods))

    add(settings.authorize_path, "authorize", authorize.authorize, "GET", "POST")
    add(settings.consent_path, "consent", authorize.consent, "POST")
    add(settings.logout_path, "logout", logout, "GET", "POST")
    return blueprint


def _answer_too_many_tries(blueprint: Blueprint, pages: Pages) -> None:
    """Let a sign-in page of the host be left with our page, unless the host has one itself."""

    def answer(error: TooManyTries) -> WerkzeugResponse:
        return pages.wait(error.retry_after)

    @blueprint.record
    def register(state: Any) -> None:
        state.app.error_handler_spec[None][None].setdefault(TooManyTries, answer)


def _page_view(
    view: Callable[[], WerkzeugResponse], session: DatabaseSession, pages: Pages
) -> Callable[[], WerkzeugResponse]:
    """Turn what the steps raise into a page or a redirect: the one place that does."""

    @functools.wraps(view, updated=())
    def wrapped() -> WerkzeugResponse:
        try:
            answer: WerkzeugResponse = recovering(session, view, {})
        except RedirectNow as leave:
            answer = leave.answer
        except errors.PageError as error:
            answer = pages.error(error)
        except (RequestEntityTooLarge, UnreadableBody, ReferenceTooLong):
            answer = pages.error(errors.UnreadableRequest())
        except ServiceUnavailable:
            # A template that greets the person would ask the database for them, once more.
            g._login_user = current_app.login_manager.anonymous_user()  # type: ignore[attr-defined]
            answer = pages.error(errors.DatabaseAway())
            answer.headers["Retry-After"] = str(RETRY_AFTER)
        answer.headers.setdefault("Cache-Control", "no-store")
        answer.headers.setdefault("Referrer-Policy", "same-origin")
        return answer

    return wrapped
