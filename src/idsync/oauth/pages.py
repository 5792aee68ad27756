"""The library's own pages: consent, sign-out, waiting, errors. A host overrides the templates by
their names.

Templates live under `idsync/`; they extend `idsync/base.html`, which a host usually replaces by a
file that extends its own base template.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from flask import Response, current_app, render_template, url_for

from idsync.accounts.record import Account
from idsync.applications.application import Application
from idsync.oauth.errors import N_, PageError
from idsync.oauth.request import AuthorizationRequest

SCOPE_TEXTS = {
    "openid": N_("Know that it is you"),
    "profile": N_("See your name and your roles"),
    "email": N_("See your e-mail address"),
    "offline_access": N_("Stay signed in while you are away"),
}


class Pages:
    """Renders the library's pages."""

    def __init__(self, home_endpoint: str, content_security_policy: str) -> None:
        self._home_endpoint = home_endpoint
        self._policy = content_security_policy

    def consent(
        self,
        *,
        application: Application,
        account: Account,
        authorization: AuthorizationRequest,
        pending: str,
    ) -> Response:
        """The consent page: who asks, for whom, and for what."""
        return self._page(
            200,
            "idsync/consent.html",
            application=application,
            destination=_destination(authorization.redirect_uri),
            account=account,
            rights=[SCOPE_TEXTS[scope] for scope in authorization.scopes],
            pending=pending,
        )

    def logout(self, *, account: Account, hidden: dict[str, str], confirm: str) -> Response:
        """The question whether to sign out, where an application asks without proof."""
        return self._page(
            200,
            "idsync/logout.html",
            account=account,
            hidden=hidden,
            confirm=confirm,
        )

    def error(self, error: PageError) -> Response:
        """The error page."""
        return self._page(error.status, "idsync/error.html", error=error)

    def wait(self, seconds: int) -> Response:
        """The page for somebody who tried too often."""
        answer = self._page(429, "idsync/wait.html", seconds=seconds)
        answer.headers["Retry-After"] = str(seconds)
        return answer

    def home(self) -> str | None:
        """The host's start page, where it named one."""
        return url_for(self._home_endpoint) if self._home_endpoint else None

    def _page(self, status: int, template: str, **context: Any) -> Response:
        """A rendered page with the headers every page of ours has."""
        if "_" not in current_app.jinja_env.globals:
            context["_"] = _untranslated  # the host translates nothing: the page is in English
        page = render_template(template, home=self.home(), **context)
        response = Response(page, status, mimetype="text/html")
        response.headers["Cache-Control"] = "no-store"
        response.headers["Content-Security-Policy"] = self._policy
        response.headers["Referrer-Policy"] = "same-origin"
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["X-Frame-Options"] = "DENY"
        return response


def _untranslated(text: str, **values: Any) -> str:
    return text % values if values else text


def _destination(redirect_uri: str) -> str:
    """What a person can recognise of the address they are sent to: its host, else its scheme."""
    parts = urlsplit(redirect_uri)
    return parts.hostname or parts.scheme
