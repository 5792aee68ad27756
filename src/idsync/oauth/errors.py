"""OAuth errors, each named for what happened. Those of `authorize` know whether they may travel.

An error raised before the redirect address is known to be the application's own is shown on our
page; `AuthorizationError`s are raised after that and travel by redirect. Descriptions are constant
ASCII text (RFC 6749 §4.1.2.1 forbids quotes and backslashes in them), so no input is ever echoed.
"""

from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import UnsupportedGrantTypeError


def N_(text: str) -> str:  # noqa: N802 - the customary name of a gettext marker
    """Mark a text for translation where it is translated later."""
    return text


class PageError(Exception):
    """A request that must not be redirected: it is shown on the service's own page.

    `title` and `message` are for the person, `detail` for the application's developer.
    """

    status = 400
    title = N_("This link does not work")
    message = N_("The application that sent you here made a mistake. Go back to it and try again.")
    detail = ""


class UnreadableRequest(PageError):
    """The query or form is not UTF-8, holds control characters, or is too large."""

    detail = "The request has parameters that cannot be read."


class ExpiredRequest(PageError):
    """A pending request or consent form that is not ours, or was left lying for too long."""

    title = N_("This page has expired")
    message = N_("Go back to the application and start signing in again.")


class RepeatedClient(PageError):
    """client_id or redirect_uri came more than once, so nobody can say whose request it is."""

    detail = "client_id and redirect_uri must each be sent once."


class UnknownApplication(PageError):
    """No such client_id."""

    title = N_("Unknown application")
    message = N_("The application that sent you here is not registered with this service.")
    detail = "client_id is unknown."


class InactiveApplication(PageError):
    """The application was switched off."""

    title = N_("Application switched off")
    message = N_("The application that sent you here may not sign people in at the moment.")
    detail = "The application is not active."


class UnregisteredRedirectURI(PageError):
    """The return address is missing or not one of the application's."""

    detail = "redirect_uri must be one of the registered addresses, character for character."


class UnusableHint(PageError):
    """An id_token_hint that is not one of ours, was altered, or is another application's."""

    detail = "id_token_hint is not a valid id_token of this service for this application."


class UnregisteredLogoutURI(PageError):
    """A post_logout_redirect_uri that cannot be told to be the application's."""

    detail = (
        "post_logout_redirect_uri must be registered for the application that id_token_hint or "
        "client_id names."
    )


class DatabaseAway(PageError):
    """The database does not answer."""

    status = 503
    title = N_("Please try again in a moment")
    message = N_("The service cannot reach its database. Nothing you did is lost.")


class AuthorizationError(OAuth2Error):
    """An error that travels to the application by redirect (RFC 6749 §4.1.2.1)."""

    def __init__(self, description: str | None = None) -> None:
        super().__init__(description=description)


class InvalidAuthorizationRequest(AuthorizationError):
    """A parameter is missing, repeated or malformed."""

    error = "invalid_request"


class UnsupportedResponseType(AuthorizationError):
    """Only the code flow exists here."""

    error = "unsupported_response_type"
    description = "Only response_type=code is supported."


class RequestNotSupported(AuthorizationError):
    """OpenID Connect Core §3.1.2.6."""

    error = "request_not_supported"
    description = "Request objects are not supported."


class RequestURINotSupported(AuthorizationError):
    """OpenID Connect Core §3.1.2.6."""

    error = "request_uri_not_supported"
    description = "Request objects are not supported."


class LoginRequired(AuthorizationError):
    """prompt=none and nobody is signed in, or not recently enough."""

    error = "login_required"
    description = "The person is not signed in."


class ConsentRequired(AuthorizationError):
    """prompt=none and the person has not agreed yet."""

    error = "consent_required"
    description = "The person has not agreed to the requested rights."


class InteractionRequired(AuthorizationError):
    """prompt=none and a second factor is still to be shown."""

    error = "interaction_required"
    description = "A second factor is needed."


class ConsentDenied(AuthorizationError):
    """The person refused."""

    error = "access_denied"
    description = "The person refused."


class ServiceNotGranted(AuthorizationError):
    """The account lacks the application's service tag."""

    error = "access_denied"
    description = "This account has no access to this service."


class SecondFactorImpossible(AuthorizationError):
    """The account has a second factor, and this host has no page that asks for it."""

    error = "access_denied"
    description = "This account needs a second factor, which cannot be asked for here."


class UnsupportedGrantType(UnsupportedGrantTypeError):
    """No such grant_type here (RFC 6749 §5.2). Authlib's own text would repeat what was sent."""

    def __init__(self) -> None:
        super().__init__("")

    def get_error_description(self) -> str:
        """Constant, as all our descriptions are."""
        return "Only authorization_code and refresh_token are supported."


class TokenRequestError(OAuth2Error):
    """A token request that cannot be read (RFC 6749 §5.2 `invalid_request`)."""

    error = "invalid_request"

    def __init__(self, description: str, status_code: int = 400) -> None:
        super().__init__(description=description, status_code=status_code)
