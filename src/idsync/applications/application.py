"""One client application as a value, and the rules for registering it."""

from __future__ import annotations

import hashlib
import re
import time
import unicodedata
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from idsync.crypto import identifiers
from idsync.errors import InvalidValue
from idsync.settings import is_loopback

SCOPES = ("openid", "profile", "email", "offline_access")
"""Every scope a token can carry. `accounts` is a right, never a token scope."""

ID_TOKEN_ALGORITHMS = ("RS256", "ES256")

MOST_REDIRECT_URIS = 50
"""Of each kind; every one is a place that a code, or a person, can be sent to."""

LONGEST_REDIRECT_URI = 2000
"""Characters; longer addresses fail in some browsers and proxies."""

_CLIENT_ID = re.compile(r"[A-Za-z0-9._~-]{1,64}")
_PRIVATE_USE_SCHEME = re.compile(r"[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+")
# RFC 3986 §2: no space, no quotes, no angle brackets.
_URI_CHARACTERS = re.compile(r"[!#-;=?-\[\]_a-z~%]+", re.IGNORECASE)

# A host name (RFC 1123 §2.1), or an address of either kind as urlsplit gives it.
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?|[0-9a-f:.]*:[0-9a-f:.]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Application:
    """A registered client application (RFC 6749 §2). Public when it has no secret.

    previous_secret_digest: of the secret before the last rotation, which goes on working until
    previous_secret_until (unix seconds).
    """

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
    previous_secret_digest: str | None = None
    previous_secret_until: int | None = None
    backchannel_logout_uri: str | None = None
    backchannel_logout_session_required: bool = False

    @property
    def version(self) -> str:
        """Another one after every change but those of the secret: a form that was filled in with an
        older one must not undo what came in between.
        """
        terms = replace(
            self, secret_digest=None, previous_secret_digest=None, previous_secret_until=None
        )
        return hashlib.sha256(repr(terms).encode()).hexdigest()[:32]

    @property
    def public(self) -> bool:
        """Whether the application keeps no secret (RFC 6749 §2.1)."""
        return self.secret_digest is None

    def has_secret(self, secret: str) -> bool:
        """Whether `secret` is this application's, or was until lately; compared in constant time.

        Both digests are always compared, so that time does not tell of a rotation.
        """
        if self.secret_digest is None:
            return False
        current = identifiers.matches(secret, self.secret_digest)
        previous = identifiers.matches(secret, self.previous_secret_digest or self.secret_digest)
        return current | (previous & self.previous_secret_works)

    @property
    def previous_secret_works(self) -> bool:
        """Whether the secret before the last rotation still authenticates the application."""
        return (
            self.previous_secret_digest is not None
            and self.previous_secret_until is not None
            and time.time() < self.previous_secret_until
        )

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
    _check_redirect_uris("redirect_uri", application.redirect_uris)
    _check_redirect_uris("post_logout_redirect_uri", application.post_logout_redirect_uris)
    if application.backchannel_logout_uri is not None:
        check_backchannel_logout_uri(application.backchannel_logout_uri)
    elif application.backchannel_logout_session_required:
        raise InvalidValue("backchannel_logout_session_required", "needs a backchannel_logout_uri")
    for scope in application.scopes:
        if scope == "accounts":
            raise InvalidValue("scope", "accounts is a right of its own: use --accounts")
        if scope not in SCOPES:
            raise InvalidValue(
                "scope",
                "%(scope)r is unknown; known are %(known)s",
                scope=scope,
                known=", ".join(SCOPES),
            )
    if application.id_token_algorithm not in ID_TOKEN_ALGORITHMS:
        raise InvalidValue("id_token_alg", "one of %(known)s", known=", ".join(ID_TOKEN_ALGORITHMS))
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
                    "%(uri)s can be claimed by any program on the device, so consent cannot be "
                    "skipped for it (RFC 8252 §8.6)",
                    uri=uri,
                )


def _check_redirect_uris(field: str, uris: tuple[str, ...]) -> None:
    if len(uris) > MOST_REDIRECT_URIS:
        raise InvalidValue(field, "more than %(most)d addresses", most=MOST_REDIRECT_URIS)
    for uri in uris:
        check_redirect_uri(field, uri)
        if uris.count(uri) > 1:
            raise InvalidValue(field, "%(uri)s is there twice", uri=uri)


def check_redirect_uri(field: str, uri: str) -> None:
    """Refuse an address no code should be sent to (RFC 6749 §3.1.2, RFC 8252 §7)."""
    if len(uri) > LONGEST_REDIRECT_URI:
        raise InvalidValue(
            field, "longer than %(longest)d characters", longest=LONGEST_REDIRECT_URI
        )
    if not _URI_CHARACTERS.fullmatch(uri):
        raise InvalidValue(
            field, "%(uri)r has characters that do not belong in an address", uri=uri
        )
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        raise InvalidValue(field, "%(uri)r is not an address", uri=uri) from None
    if "#" in uri:
        raise InvalidValue(field, "%(uri)s has a fragment (RFC 6749 §3.1.2)", uri=uri)
    if "@" in parts.netloc:
        raise InvalidValue(field, "%(uri)s names a user", uri=uri)
    if "*" in uri:
        raise InvalidValue(field, "%(uri)s has a *, but addresses are compared exactly", uri=uri)
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http" and is_loopback(parts.hostname):
        return
    if _PRIVATE_USE_SCHEME.fullmatch(parts.scheme):
        return
    raise InvalidValue(
        field,
        "%(uri)s must be https, http on a loopback host, or a private-use scheme with a dot such "
        "as org.example.app:/callback",
        uri=uri,
    )


def check_backchannel_logout_uri(uri: str) -> None:
    """Refuse an address no logout token should be sent to (Back-Channel Logout 1.0 §2.2)."""
    check_redirect_uri("backchannel_logout_uri", uri)
    parts = urlsplit(uri)
    if not _HOST.fullmatch(parts.hostname or "") or parts.port == 0:
        raise InvalidValue("backchannel_logout_uri", "%(uri)r is not an address", uri=uri)
    if parts.scheme not in ("https", "http"):
        raise InvalidValue(
            "backchannel_logout_uri", "%(uri)s must be https, or http on a loopback host", uri=uri
        )


def _anyone_can_claim(uri: str) -> bool:
    parts = urlsplit(uri)
    return parts.scheme not in ("http", "https") or is_loopback(parts.hostname)
