"""Settings of idsync: one frozen, typed object per application, read from `app.config`.

Every setting is `IDSYNC_` and the field's name in capitals. Each field carries its unit and, where
a number has one, its source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from idsync.errors import ConfigurationError

PREFIX = "IDSYNC_"

# Lifetimes fixed by the service's contract, in seconds.
CODE_LIFETIME = 60
ACCESS_TOKEN_LIFETIME = 3600
REFRESH_TOKEN_LIFETIME = 30 * 24 * 3600

DEFAULT_ROLES = {"администратор": "admin", "наставник": "teacher", "ученик": "student"}


def _setting(default: Any, description: str, *, secret: bool = False) -> Any:
    return field(default=default, repr=not secret, metadata={"description": description})


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator decides. Read once in `init_app`; unknown `IDSYNC_` names are refused."""

    issuer: str = _setting(
        "",
        "Public address of the service, without a trailing slash: https, or http on a loopback "
        "host. Required, except in debug mode and tests, where the request's address is used.",
    )
    token_keys: Any = _setting(
        (),
        "Keys that sign codes, tokens, mailed links and the cookie of known browsers, newest "
        "first: a list of 32 random bytes each in URL-safe base64. Required.",
        secret=True,
    )
    sealing_keys: Any = _setting(
        (),
        "Keys that seal passwords, authenticator secrets and private signing keys in the database, "
        "newest first; same form. Required.",
        secret=True,
    )
    client_id_prefix: str = _setting("app_", "What every new client_id begins with.")
    password_exchange: bool = _setting(
        True,
        "Keep passwords in the exchange format (PBKDF2-SHA256), which consuming services "
        "can check. Off: Argon2id everywhere, and the account API shows null.",
    )
    pbkdf2_iterations: int = _setting(
        600_000, "Iterations of new exchange hashes (OWASP Password Storage Cheat Sheet, 2023)."
    )
    pbkdf2_min_iterations: int = _setting(
        10_000, "Fewest iterations accepted in an exchange hash from outside."
    )
    pbkdf2_max_iterations: int = _setting(
        2_000_000, "Most iterations accepted; more would let a caller burn the service's time."
    )
    pbkdf2_salt: str = _setting(
        "text", "How the salt of an exchange hash becomes bytes: text (UTF-8), hex or base64."
    )
    argon2_time_cost: int = _setting(3, "Argon2id passes (RFC 9106 §4, second recommendation).")
    argon2_memory_kib: int = _setting(65_536, "Argon2id memory in KiB (RFC 9106 §4).")
    argon2_parallelism: int = _setting(4, "Argon2id lanes (RFC 9106 §4).")
    role_map: Mapping[str, str] = field(
        default_factory=lambda: dict(DEFAULT_ROLES),
        metadata={"description": "Which tag gives which role."},
    )
    session_lifetime: int = _setting(
        30 * 24 * 3600,
        "Seconds after which a browser session ends whatever happens; as long as a refresh token.",
    )
    refresh_retry_seconds: int = _setting(
        0,
        "Seconds within which a refresh token just used answers again with the same successor, "
        "so that a lost answer signs nobody out. 0: strictly single use.",
    )
    second_factor_endpoint: str = _setting(
        "",
        "Endpoint of the host's second-factor page. Without one, an account with a second "
        "factor is refused at authorize unless its session already proved it.",
    )
    account_tries: int = _setting(
        10,
        "Passwords that may be tried for an account at once, from browsers that it does not know.",
    )
    account_try_seconds: int = _setting(
        360, "Seconds after which an account whose tries are used up may be tried once more."
    )
    second_factor_tries: int = _setting(
        5, "Second-factor codes that may be tried for an account at once."
    )
    second_factor_try_seconds: int = _setting(
        900, "Seconds after which one more second-factor code may be tried."
    )
    address_limit: str = _setting(
        "30 per 10 minutes", "Failed tries from one network address, for all accounts together."
    )
    limits_storage: str = _setting(
        "memory://",
        "Where tries per address are counted, as the limits package writes it: redis://host:6379 "
        "where several processes serve; in memory each process counts alone.",
        secret=True,  # the address may hold a password
    )
    phone_region: str = _setting(
        "",
        "Country of phone numbers that are entered without one, as two letters (ISO 3166-1); "
        "without it a number needs its country code.",
    )
    phone_sender: str = _setting(
        "console",
        "How codes reach phones: console (standard error, for development), or the address of an "
        "HTTP gateway, which is sent JSON with `to` and `text`. Not used with "
        "`IdSync(send_text=…)`.",
        secret=True,
    )
    phone_gateway_token: str = _setting(
        "", "Sent to the HTTP gateway as a bearer token.", secret=True
    )
    audit_days: int = _setting(
        400,
        "Days that audit events are kept before `flask idsync prune` deletes them. A year and a "
        "month: a yearly review still finds the whole year (PCI DSS 4.0 §10.5.1 asks for twelve "
        "months).",
    )
    mail_sender: str = _setting(
        "console",
        "How mail reaches people: console (standard error, for development), "
        "smtp://user:password@host:587 (with STARTTLS) or smtps://user:password@host:465. Not used "
        "with `IdSync(send_mail=…)`.",
        secret=True,
    )
    mail_from: str = _setting(
        "", "Who mail comes from: `Name <address>`, or an address. Required for a mail server."
    )
    ui_locales: str = _setting(
        "",
        "Languages of the site's pages as discovery announces them, space-separated (BCP 47).",
    )
    content_security_policy: str = _setting(
        # No `form-action`: Chromium applies it to the whole redirect chain behind a form, and the
        # consent form's answer leads to the application.
        "default-src 'none'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        "base-uri 'none'; frame-ancestors 'none'",
        "Header of the library's own pages; yours, where your layout needs more than its own style "
        "sheets. Keep `frame-ancestors`.",
    )
    home_endpoint: str = _setting(
        "", "Endpoint an error page links to; without one it has no link."
    )
    authorize_path: str = _setting("/oauth/authorize", "Authorization endpoint.")
    consent_path: str = _setting("/oauth/consent", "Address the consent form posts to.")
    token_path: str = _setting("/oauth/token", "Token endpoint.")
    userinfo_path: str = _setting("/oauth/userinfo", "User information endpoint.")
    jwks_path: str = _setting("/oauth/jwks", "Published signing keys.")
    revoke_path: str = _setting("/oauth/revoke", "Revocation endpoint.")
    logout_path: str = _setting("/logout", "Where applications send people to sign out.")
    accounts_path: str = _setting("/api/service/accounts", "Account API: accounts.")
    services_path: str = _setting("/api/services", "Account API: tags of first-party services.")
    static_path: str = _setting("/oauth/static", "Style sheet of the library's own pages.")

    @classmethod
    def from_config(cls, config: Mapping[str, Any], *, lenient: bool) -> Settings:
        """Read `IDSYNC_*` from a Flask config.

        `lenient` (debug mode and tests) allows the issuer to be missing.
        Raises ConfigurationError naming the setting and what it should be.
        """
        given = {
            name.removeprefix(PREFIX).lower(): value
            for name, value in config.items()
            if name.startswith(PREFIX)
        }
        known = {one.name: one for one in fields(cls)}
        for name in given:
            if name not in known:
                raise ConfigurationError(
                    f"{PREFIX}{name.upper()} is not a setting of idsync. "
                    f"Known settings: {', '.join(PREFIX + n.upper() for n in known)}."
                )
        settings = cls(**given)
        settings._check_types(known)
        settings._check_issuer(lenient)
        settings._check_values()
        return settings

    def _check_types(self, known: Mapping[str, Any]) -> None:
        for name, one in known.items():
            value, default = getattr(self, name), one.default
            # bool is an int in Python; a number where a switch is meant is a mistake.
            if isinstance(default, (bool, int, str)) and type(value) is not type(default):
                raise ConfigurationError(
                    f"{PREFIX}{name.upper()} must be {type(default).__name__}, "
                    f"not {type(value).__name__}."
                )

    def _check_issuer(self, lenient: bool) -> None:
        if not self.issuer:
            if lenient:
                return
            raise ConfigurationError(
                "IDSYNC_ISSUER is required: the public address of the service, "
                "for example https://id.example.org"
            )
        try:
            parts = urlsplit(self.issuer)
            _ = parts.port
        except ValueError as error:
            raise ConfigurationError("IDSYNC_ISSUER is not an address.") from error
        if parts.query or parts.fragment or "@" in parts.netloc or self.issuer.endswith("/"):
            raise ConfigurationError(
                "IDSYNC_ISSUER has no query, fragment, user or trailing slash "
                "(OpenID Connect Discovery 1.0 §3)."
            )
        secure = parts.scheme == "https" and parts.hostname
        if not secure and not (parts.scheme == "http" and is_loopback(parts.hostname)):
            raise ConfigurationError(
                "IDSYNC_ISSUER must use https; http is accepted on a loopback host only."
            )

    def _check_values(self) -> None:
        if self.pbkdf2_salt not in ("text", "hex", "base64"):
            raise ConfigurationError("IDSYNC_PBKDF2_SALT must be text, hex or base64.")
        if not (
            1 <= self.pbkdf2_min_iterations <= self.pbkdf2_iterations <= self.pbkdf2_max_iterations
        ):
            raise ConfigurationError(
                "IDSYNC_PBKDF2_ITERATIONS must lie between IDSYNC_PBKDF2_MIN_ITERATIONS and "
                "IDSYNC_PBKDF2_MAX_ITERATIONS."
            )
        role_map: Any = self.role_map
        if not isinstance(role_map, Mapping) or not all(
            isinstance(text, str) for pair in role_map.items() for text in pair
        ):
            raise ConfigurationError("IDSYNC_ROLE_MAP must map tags to roles, both text.")
        for name in (one.name for one in fields(self) if one.name.endswith("_path")):
            if not getattr(self, name).startswith("/"):
                raise ConfigurationError(f"{PREFIX}{name.upper()} must begin with a slash.")
        for name in ("account", "second_factor"):
            if min(getattr(self, f"{name}_tries"), getattr(self, f"{name}_try_seconds")) < 1:
                raise ConfigurationError(
                    f"{PREFIX}{name.upper()}_TRIES and {PREFIX}{name.upper()}_TRY_SECONDS must be "
                    "positive."
                )
        if not re.fullmatch("([A-Z]{2})?", self.phone_region):
            raise ConfigurationError("IDSYNC_PHONE_REGION must be two capital letters, such as DE.")
        if self.phone_sender != "console":
            sender = urlsplit(self.phone_sender)
            local = sender.scheme == "http" and is_loopback(sender.hostname)
            if not (local or sender.scheme == "https"):
                raise ConfigurationError(
                    "IDSYNC_PHONE_SENDER must be console or an https address; http is accepted on "
                    "a loopback host only."
                )
        policy = self.content_security_policy
        if not policy or not policy.isascii() or not policy.isprintable():
            raise ConfigurationError(
                "IDSYNC_CONTENT_SECURITY_POLICY must be the value of a header: one line, ASCII."
            )
        if self.audit_days < 1:
            raise ConfigurationError("IDSYNC_AUDIT_DAYS must be at least 1.")
        if self.session_lifetime <= 0 or self.refresh_retry_seconds < 0:
            raise ConfigurationError(
                "IDSYNC_SESSION_LIFETIME must be positive and IDSYNC_REFRESH_RETRY_SECONDS "
                "not negative."
            )


def is_loopback(host: str | None) -> bool:
    """Whether a host name stands for this machine: localhost, 127.0.0.0/8 or ::1."""
    if host == "localhost":
        return True
    try:
        return ip_address(host or "").is_loopback
    except ValueError:
        return False
