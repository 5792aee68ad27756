"""How a client application proves who it is (RFC 6749 §2.3): Basic header, body fields, or none.

Used by the token endpoint, through Authlib, and by the account API. The order matters: what was
sent is read completely before anything is looked up, so that a wrong secret can never fall
through to the rules for public applications.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from idsync.applications.application import Application
from idsync.errors import ClientRefused, MalformedCredentials

BASIC = "client_secret_basic"
POST = "client_secret_post"
NONE = "none"

_BASIC_HEADER = re.compile(r"basic +(\S+) *", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request says about its client. `secret` is None for method `none`."""

    client_id: str
    secret: str | None = field(repr=False)
    method: str


def authenticate_client(
    find: Callable[[str], Application | None],
    authorization: str | None,
    form: Mapping[str, str],
) -> tuple[Application, str]:
    """The active application a request comes from, and the method it used.

    `authorization` is the header's value, `form` the body fields. Raises MalformedCredentials
    where credentials cannot be read or come twice, ClientRefused where they are not right; the
    reason is the same for unknown, inactive and wrong, so that nothing can be probed.
    """
    credentials = read_credentials(authorization, form)
    application = find(credentials.client_id)
    if application is None or not application.active:
        raise ClientRefused("Client authentication failed.")
    if application.public != (credentials.secret is None):
        raise ClientRefused("Client authentication failed.")
    if credentials.secret is not None and not application.has_secret(credentials.secret):
        raise ClientRefused("Client authentication failed.")
    return application, credentials.method


def read_credentials(authorization: str | None, form: Mapping[str, str]) -> Credentials:
    """Read the client's credentials out of a request, refusing ambiguous ones."""
    body_id, body_secret = form.get("client_id"), form.get("client_secret")
    if authorization is not None and authorization.strip().lower().startswith("basic"):
        client_id, secret = read_basic(authorization)
        if body_secret:
            raise MalformedCredentials("Client credentials were sent in the header and the body.")
        if body_id is not None and body_id != client_id:
            raise MalformedCredentials("The header and the body name different clients.")
        # RFC 6749 §2.3.1 allows an empty secret to be left out: a public application's Basic.
        return Credentials(client_id, secret or None, BASIC if secret else NONE)
    if not body_id:
        raise ClientRefused("No client credentials were sent.")
    if body_secret:
        return Credentials(body_id, body_secret, POST)
    return Credentials(body_id, None, NONE)


def read_basic(authorization: str) -> tuple[str, str]:
    """client_id and secret of a Basic header, both percent-decoded (RFC 6749 §2.3.1)."""
    match = _BASIC_HEADER.fullmatch(authorization.strip())
    if match is None:
        raise ClientRefused("The Authorization header is not valid Basic authentication.")
    try:
        client_id, colon, secret = (
            base64.b64decode(match[1], validate=True).decode("utf-8").partition(":")
        )
        if not colon:
            raise ClientRefused("The Authorization header is not valid Basic authentication.")
        return _decoded(client_id), _decoded(secret)
    except (binascii.Error, UnicodeError, ValueError):
        raise ClientRefused("The Authorization header is not valid Basic authentication.") from None


def _decoded(text: str) -> str:
    return unquote_to_bytes(text).decode("utf-8")
