"""An authorization request: its parameters as a value, and the checks on them in their fixed order.

    shown on our own page, never redirected
      1. client_id or redirect_uri repeated         RepeatedClient
      2. client_id unknown                          UnknownApplication
      3. application inactive                       InactiveApplication
      4. redirect_uri missing or not registered     UnregisteredRedirectURI
    redirected to the now trusted address
      5. any other parameter repeated or too long   invalid_request
      6. request, request_uri                       request_not_supported, request_uri_not_supported
      7. response_type                              invalid_request, unsupported_response_type
      8. response_mode other than query             invalid_request
      9. code challenge (RFC 7636)                  invalid_request
     10. prompt, max_age                            invalid_request
     11. id_token_hint (`server.py`, which has the keys)  invalid_request

The order of the first four is a matter of safety: nothing is sent to an address before it is known
to belong to a known, active application.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from idsync.applications.application import Application
from idsync.oauth import errors
from idsync.parameters import Parameters

LONGEST = {
    "state": 1536,
    "scope": 1024,
    "nonce": 200,  # the service's contract
    "prompt": 64,
    "code_challenge": 128,
    "ui_locales": 256,
    "login_hint": 320,
}
"""Characters, per parameter that is kept or echoed."""

KNOWN = frozenset(
    "client_id redirect_uri response_type response_mode scope state nonce prompt max_age "
    "code_challenge code_challenge_method login_hint id_token_hint ui_locales "
    "claims_locales acr_values display request request_uri".split()
)
"""Parameters of the standard that are read here; others are ignored (RFC 6749 §3.1)."""

WITHOUT_EFFECT = frozenset({"claims_locales", "acr_values", "display"})
"""Voluntary wishes (Core §3.1.2.1) that change nothing: claims have one language, a second factor
is asked for wherever there is one, and the pages fit every window.
"""

HINTED_SUBJECT = "hinted_subject"
"""Stands for the id_token_hint in a request that we carry on; never read from outside."""

PROMPTS = ("none", "login", "consent", "select_account")

_S256_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")  # BASE64URL of a SHA-256, RFC 7636 §4.2
_MAX_AGE = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """A checked authorization request. `scopes` are those that survived."""

    client_id: str
    redirect_uri: str
    scopes: tuple[str, ...]
    state: str | None = None
    code_challenge: str | None = None
    nonce: str | None = None
    prompts: frozenset[str] = field(default_factory=frozenset)
    max_age: int | None = None
    hinted_subject: str | None = None

    @property
    def silent(self) -> bool:
        """Whether nothing may be shown to the person (`prompt=none`)."""
        return "none" in self.prompts


def find_client(
    parameters: Parameters, find: Callable[[str], Application | None]
) -> tuple[Application, str]:
    """Checks 1 to 4: whose request this is and where its answer goes. Raises PageError."""
    client_ids = _values(parameters, "client_id")
    redirect_uris = _values(parameters, "redirect_uri")
    if len(client_ids) > 1 or len(redirect_uris) > 1:
        raise errors.RepeatedClient
    application = find(client_ids[0]) if client_ids else None
    if application is None:
        raise errors.UnknownApplication
    if not application.active:
        raise errors.InactiveApplication
    if not redirect_uris or redirect_uris[0] not in application.redirect_uris:
        raise errors.UnregisteredRedirectURI
    return application, redirect_uris[0]


def read_request(
    parameters: Parameters, application: Application, redirect_uri: str
) -> AuthorizationRequest:
    """Checks 5 to 10. Raises AuthorizationError, which may travel to `redirect_uri`."""
    for name, values in parameters.items():
        if name not in KNOWN:
            continue
        if len(values) > 1:
            raise errors.InvalidAuthorizationRequest("A parameter is repeated.")
        if name in LONGEST and len(values[0]) > LONGEST[name]:
            raise errors.InvalidAuthorizationRequest(f"{name} is too long.")
    given = {name: values[0] for name, values in parameters.items() if values[0]}
    if "request" in given:
        raise errors.RequestNotSupported
    if "request_uri" in given:
        raise errors.RequestURINotSupported
    if "response_type" not in given:
        raise errors.InvalidAuthorizationRequest("response_type is missing.")
    if given["response_type"] != "code":
        raise errors.UnsupportedResponseType
    if given.get("response_mode", "query") != "query":
        raise errors.InvalidAuthorizationRequest("Only response_mode=query is supported.")
    return AuthorizationRequest(
        client_id=application.client_id,
        redirect_uri=redirect_uri,
        scopes=application.allowed_scopes(given.get("scope", "")),
        state=given.get("state"),
        code_challenge=_code_challenge(given, application),
        nonce=given.get("nonce"),
        prompts=_prompts(given.get("prompt", "")),
        max_age=_max_age(given.get("max_age")),
        hinted_subject=given.get(HINTED_SUBJECT),
    )


def known(parameters: Parameters) -> Parameters:
    """The parameters that are read here."""
    return {name: values for name, values in parameters.items() if name in KNOWN}


def carried(parameters: Parameters, request: AuthorizationRequest) -> Parameters:
    """What of a checked request goes on to the next page: whom the hint names, not the hint."""
    dropped = {"id_token_hint", HINTED_SUBJECT, *WITHOUT_EFFECT}
    kept = {name: values for name, values in parameters.items() if name not in dropped}
    if request.hinted_subject is not None:
        kept[HINTED_SUBJECT] = [request.hinted_subject]
    return kept


def state_of(parameters: Parameters) -> str | None:
    """The state an error answer returns: the one value sent, else none."""
    values = _values(parameters, "state")
    return values[0] if len(values) == 1 and len(values[0]) <= LONGEST["state"] else None


def _values(parameters: Parameters, name: str) -> list[str]:
    """A parameter's values; an empty one counts as absent (RFC 6749 §3.1)."""
    values = parameters.get(name, [])
    return values if len(values) > 1 else [value for value in values if value]


def _code_challenge(given: dict[str, str], application: Application) -> str | None:
    challenge, method = given.get("code_challenge"), given.get("code_challenge_method")
    if challenge is None:
        if application.public:
            raise errors.InvalidAuthorizationRequest(
                "A public application must send a code_challenge."
            )
        if method is not None:
            raise errors.InvalidAuthorizationRequest("code_challenge is missing.")
        return None
    if (method or "S256") != "S256":
        raise errors.InvalidAuthorizationRequest("Only code_challenge_method=S256 is supported.")
    if not _S256_CHALLENGE.fullmatch(challenge):
        raise errors.InvalidAuthorizationRequest(
            "code_challenge must be the base64url of a SHA-256 hash, 43 characters."
        )
    return challenge


def _prompts(text: str) -> frozenset[str]:
    prompts = frozenset(text.split())
    if "none" in prompts and len(prompts) > 1:
        raise errors.InvalidAuthorizationRequest("prompt=none stands alone.")
    if not prompts <= {*PROMPTS}:
        raise errors.InvalidAuthorizationRequest("prompt has an unknown value.")
    return prompts


def _max_age(text: str | None) -> int | None:
    if text is None:
        return None
    if not _MAX_AGE.fullmatch(text):
        raise errors.InvalidAuthorizationRequest("max_age must be a number of seconds.")
    return int(text)
