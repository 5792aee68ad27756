"""One client application as a value, and the rules for registering it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import urlsplit

from idsync.crypto import secrets
from idsync.errors import InvalidValue
from idsync.settings import is_loopback

SCOPES = ("openid", "profile", "email", "offline_access")
"""Every scope a token can carry. `accounts` is a right, never a token scope."""

ID_TOKEN_ALGORITHMS = ("RS256", "ES256")

LONGEST_REDIRECT_URI = 2000
"""Characters; longer addresses fail in some browsers and proxies."""

_CLIENT_ID = re.compile(r"[A-Za-z0-9._~-]{1,64}")
_PRIVATE_USE_SCHEME = re.compile(r"[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+")
_URI_CHARACTERS = re.compile(
    r"[!#-;=?-\[\]_a-z~%]+", re.IGNORECASE
)  # RFC 3986: no space, quote, <, >


@dataclass(frozen=True, slots=True)
class Application:
    """A registered client application (RFC 6749 §2). Public when it has no secret."""

    client_id: str
    name: str
    secret_digest: str | None
    redirect_uris: tuple[str, ...]
    post_logout_redirect_uris: tuple[str, ...]
    scopes: tuple[str, ...]
    first_party: bool
    accounts: bool
    service_tag: str | None
    id_token_algorithm: str
    active: bool
    created_at: int

    @property
    def public(self) -> bool:
        """Whether the application keeps no secret (RFC 6749 §2.1)."""
        return self.secret_digest is None

    def has_secret(self, secret: str) -> bool:
        """Whether `secret` is this application's; compared in constant time."""
        return self.secret_digest is not None and secrets.matches(secret, self.secret_digest)

    def allowed_scopes(self, requested: str) -> tuple[str, ...]:
        """Scopes that survive a request: `openid` always, others when granted at registration."""
        wanted = set(requested.split()) & set(self.scopes) | {"openid"}
        return tuple(scope for scope in SCOPES if scope in wanted)

    def check_grant_type(self, grant_type: str) -> bool:
        """Whether the application may use this grant at the token endpoint (Authlib asks).

        Whether a grant may be refreshed is decided by its scopes, not here.
        """
        return grant_type in ("authorization_code", "refresh_token")

    def admits(self, tags: frozenset[str]) -> bool:
        """Whether a person with these tags may use the application."""
        return self.service_tag is None or self.service_tag in tags


def is_client_id(text: str) -> bool:
    """Whether `text` has the shape of a client_id; anything else never reaches the database."""
    return _CLIENT_ID.fullmatch(text) is not None


def check_registration(application: Application) -> None:
    """Refuse a registration that would be unsafe or could never work.

    Raises InvalidValue naming the field.
    """
    if not application.name.strip() or len(application.name) > 200:
        raise InvalidValue("name", "between 1 and 200 characters")
    if not application.name.isprintable():
        raise InvalidValue("name", "control characters and line breaks are not allowed")
    if not application.redirect_uris and not application.accounts:
        raise InvalidValue("redirect_uri", "at least one is needed to sign people in")
    for uri in application.redirect_uris:
        check_redirect_uri("redirect_uri", uri)
    for uri in application.post_logout_redirect_uris:
        check_redirect_uri("post_logout_redirect_uri", uri)
    for scope in application.scopes:
        if scope == "accounts":
            raise InvalidValue("scope", "accounts is a right of its own: use --accounts")
        if scope not in SCOPES:
            raise InvalidValue("scope", f"{scope!r} is unknown; known are {', '.join(SCOPES)}")
    if application.id_token_algorithm not in ID_TOKEN_ALGORITHMS:
        raise InvalidValue("id_token_alg", f"one of {', '.join(ID_TOKEN_ALGORITHMS)}")
    tag = application.service_tag
    if tag is not None and not (
        0 < len(tag) <= 64
        and tag.isprintable()
        and tag == tag.strip()
        and unicodedata.is_normalized("NFC", tag)
    ):
        raise InvalidValue("service_tag", "1 to 64 printable characters, composed (NFC)")
    if application.public and application.accounts:
        raise InvalidValue(
            "accounts", "the account API needs a secret; a public application has none"
        )
    if application.public and application.first_party:
        for uri in application.redirect_uris:
            if _anyone_can_claim(uri):
                raise InvalidValue(
                    "first_party",
                    f"{uri} can be claimed by any program on the device, so consent cannot be "
                    "skipped for it (RFC 8252 §8.6)",
                )


def check_redirect_uri(field: str, uri: str) -> None:
    """Refuse an address no code should be sent to (RFC 6749 §3.1.2, RFC 8252 §7)."""
    if len(uri) > LONGEST_REDIRECT_URI:
        raise InvalidValue(field, f"longer than {LONGEST_REDIRECT_URI} characters")
    if not _URI_CHARACTERS.fullmatch(uri):
        raise InvalidValue(field, f"{uri!r} has characters that do not belong in an address")
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        raise InvalidValue(field, f"{uri!r} is not an address") from None
    if "#" in uri:
        raise InvalidValue(field, f"{uri} has a fragment (RFC 6749 §3.1.2)")
    if "@" in parts.netloc:
        raise InvalidValue(field, f"{uri} names a user")
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http" and is_loopback(parts.hostname):
        return
    if _PRIVATE_USE_SCHEME.fullmatch(parts.scheme):
        return
    raise InvalidValue(
        field,
        f"{uri} must be https, http on a loopback host, or a private-use scheme with a dot such "
        "as org.example.app:/callback",
    )


def _anyone_can_claim(uri: str) -> bool:
    parts = urlsplit(uri)
    return parts.scheme not in ("http", "https") or is_loopback(parts.hostname)
