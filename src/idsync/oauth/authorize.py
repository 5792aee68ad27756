"""The authorization endpoint: one sign-in, step by step (RFC 6749 §3.1, OpenID Core §3.1.2).

    read the parameters          of the query, or of the pending request we signed
    check the request            `request.py`; own page or redirect
    see who is at the browser    the session row
    decide the next step         `interaction.py`
    sign in | second factor | consent | issue the code

A request that needs the person carries on as a signed pending request at the same address.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import flask_login
from authlib.oauth2 import OAuth2Error
from flask import Response, current_app, redirect, request, url_for
from werkzeug.wrappers import Response as WerkzeugResponse

from idsync.machine import request_body
from idsync.oauth import errors
from idsync.oauth.consent import Consents
from idsync.oauth.interaction import Step, next_step
from idsync.oauth.pages import Pages
from idsync.oauth.pending import ConsentForm, Pending, PendingRequests
from idsync.oauth.redirect import add_query
from idsync.oauth.request import carried, known, state_of
from idsync.oauth.server import IdentityServer, OAuthRequest
from idsync.parameters import LONGEST_INPUT, Parameters, UnreadableParameters, read_parameters
from idsync.signin.browser import BrowserSessions
from idsync.signin.sessions import SignedIn

Answer = WerkzeugResponse


class AuthorizeEndpoint:
    """GET and POST /oauth/authorize, and the consent form's POST."""

    def __init__(
        self,
        *,
        server: IdentityServer,
        browser: BrowserSessions,
        consents: Consents,
        pending: PendingRequests,
        pages: Pages,
        second_factor_endpoint: str,
    ) -> None:
        self._server = server
        self._browser = browser
        self._consents = consents
        self._pending = pending
        self._pages = pages
        self._second_factor_endpoint = second_factor_endpoint

    def authorize(self) -> Answer:
        """The person arrives from an application, or comes back from one of our pages."""
        person = self._browser.current()
        pending = self._read_pending(person)
        if request.method == "POST":
            # Core §3.1.2.1 asks for POST; what follows needs an address to come back to.
            return self._to_pending(self._carried(pending, self._check(pending)))
        return self._advance(pending, person)

    def consent(self) -> Answer:
        """The person pressed a button of the consent form.

        The form is bound to the session and the account it was shown to; anything else starts
        over, so that a form shown to one person is never another's agreement.
        """
        parameters = _read(request_body(LONGEST_INPUT))
        form = self._pending.read_form(_first(parameters, "pending"))
        if form is None:
            raise errors.ExpiredRequest
        person = self._browser.current()
        if person is None or (form.session, form.subject) != (
            person.public_id,
            person.account.subject,
        ):
            return self._to_pending(form.pending)
        decision = _first(parameters, "decision")
        if decision == "deny":
            oauth_request = self._check(form.pending)
            return self._error_redirect(oauth_request, errors.ConsentDenied())
        if decision != "allow":
            return self._to_pending(form.pending)
        return self._advance(form.pending, person, agreed=True)

    # --- the steps ---------------------------------------------------------------------------

    def _advance(
        self, pending: Pending, person: SignedIn | None, *, agreed: bool = False
    ) -> Answer:
        oauth_request = self._check(pending)
        authorization, application = oauth_request.checked, oauth_request.client
        pending = self._carried(pending, oauth_request)
        consented: frozenset[str] = frozenset()
        if person is not None and not application.first_party:
            consented = self._consents.scopes(person.account.key, application.client_id)
        try:
            step = next_step(
                authorization, application, person, consented, pending.first_seen, agreed=agreed
            )
            if step is Step.SIGN_IN:
                return self._ask_to_sign_in(pending)
            assert person is not None  # noqa: S101 - the other steps are for somebody
            if step is Step.SECOND_FACTOR:
                return self._ask_for_second_factor(pending)
            if step is Step.CONSENT:
                return self._ask_for_consent(pending, person, oauth_request)
        except OAuth2Error as error:
            return self._error_redirect(oauth_request, error)
        if agreed:
            self._consents.remember(person.account.key, application.client_id, authorization.scopes)
        return self._issue(oauth_request, person)

    def _check(self, pending: Pending) -> OAuthRequest:
        """The checked request. Raises PageError, or RedirectNow for errors that may travel."""
        oauth_request = OAuthRequest(
            "GET", self._server.issuer() + request.path, pending.parameters
        )
        try:
            self._server.check_authorization_request(oauth_request)
        except OAuth2Error as error:
            raise RedirectNow(self._error_redirect(oauth_request, error)) from None
        return oauth_request

    def _ask_to_sign_in(self, pending: Pending) -> Answer:
        if not request.args.get("pending"):
            return self._to_pending(pending)
        if self._browser.half_way(since=pending.first_seen.at):
            return self._ask_for_second_factor(pending)
        if flask_login.current_user.is_authenticated:
            # A sign-in page that turns signed-in people away would send them back here for ever.
            self._browser.set_aside()
        unauthorized: Any = current_app.login_manager.unauthorized()  # type: ignore[attr-defined]
        return current_app.make_response(unauthorized)

    def _ask_for_second_factor(self, pending: Pending) -> Answer:
        if not self._second_factor_endpoint:
            raise errors.SecondFactorImpossible
        back = self._address_of(pending)
        return redirect(url_for(self._second_factor_endpoint, next=back), 303)

    def _ask_for_consent(
        self, pending: Pending, person: SignedIn, oauth_request: OAuthRequest
    ) -> Answer:
        form = ConsentForm(pending, person.public_id, person.account.subject)
        return self._pages.consent(
            application=oauth_request.client,
            account=person.account,
            authorization=oauth_request.checked,
            pending=self._pending.sign_form(form),
        )

    def _issue(self, oauth_request: OAuthRequest, person: SignedIn) -> Answer:
        grant = self._server.get_authorization_grant(oauth_request)
        status, body, headers = self._server.create_authorization_response(
            oauth_request, grant_user=person, grant=grant
        )
        return Response(body, status, headers)

    # --- carrying a request ------------------------------------------------------------------

    def _read_pending(self, person: SignedIn | None) -> Pending:
        """The request at hand. A pending value that is forged or too old is an unreadable one."""
        if request.method == "POST":
            parameters = _read(request_body(LONGEST_INPUT))
        else:
            parameters = _read(request.query_string)
        signed = _first(parameters, "pending")
        if signed:
            pending = self._pending.read(signed)
            if pending is None:
                raise errors.ExpiredRequest
            return pending
        return self._pending.first(known(parameters), "" if person is None else person.public_id)

    def _carried(self, pending: Pending, oauth_request: OAuthRequest) -> Pending:
        """The checked request as it goes on through our pages."""
        return replace(pending, parameters=carried(pending.parameters, oauth_request.checked))

    def _address_of(self, pending: Pending) -> str:
        return url_for("idsync.authorize", pending=self._pending.sign(pending))

    def _to_pending(self, pending: Pending) -> Answer:
        return redirect(self._address_of(pending), 303)

    def _error_redirect(self, oauth_request: OAuthRequest, error: OAuth2Error) -> Answer:
        """An error on its way to the application: with `state` and `iss`, always."""
        redirect_uri = error.redirect_uri or oauth_request.checked.redirect_uri
        answer = {
            "error": error.error,
            "error_description": error.description or None,
            "state": state_of(oauth_request.payload.datalist),
            "iss": self._server.issuer(),
        }
        return Response(status=303, headers={"Location": add_query(redirect_uri, answer)})


class RedirectNow(Exception):
    """Leave the steps with this answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


def _read(raw: bytes) -> Parameters:
    try:
        return read_parameters(raw)
    except UnreadableParameters:
        raise errors.UnreadableRequest from None


def _first(parameters: Parameters, name: str) -> str:
    return parameters.get(name, [""])[0]
