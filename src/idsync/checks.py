"""Which settings are unsafe: plain sentences over values.

    refused_settings   lets strangers in; the service does not start with it
    unsafe_settings    to be changed before people depend on it; `flask idsync check` lists it

No sentence repeats a value.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from flask import Flask
from sqlalchemy import URL
from werkzeug.middleware.proxy_fix import ProxyFix

from idsync.crypto.keys import parse_keys
from idsync.errors import ConfigurationError
from idsync.settings import PREFIX, Settings, is_loopback

SHORTEST_SECRET = 16
"""Characters of a SECRET_KEY below which it can be guessed, given one of its cookies."""

GOOD_SECRET = 32
"""Characters."""

FEWEST_DIFFERENT = 8
"""Different characters, or bytes; what is random has more, `aaaa…` has not."""

OWASP_ITERATIONS = 600_000
"""PBKDF2-SHA256 (OWASP Password Storage Cheat Sheet, 2023)."""

OWASP_ARGON2 = (19_456, 2)
"""Argon2id: KiB of memory and passes, the least the same sheet recommends."""

LONGEST_RETRY = 60
"""Seconds."""

ENCRYPTED = ("require", "verify-ca", "verify-full")
"""Values of libpq's sslmode that never go without TLS."""

# Secrets that stand in examples; "192b9b…" is the one of Flask's documentation.
_PLACEHOLDER = re.compile(
    r"change.?(me|this|it)|replace.?(me|this|it)|your.?secret|secret.?key|placeholder|insecure"
    r"|never.?guess|do.?not.?use|super.?secret|192b9bdd22ab9ed4d12e236c78afcb9a",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What beside idsync's own settings decides: Flask's config, and how the site is put together.

    encrypted: the database driver insists on TLS. mail: it can be sent.
    """

    config: Mapping[str, Any]
    debug: bool
    behind_proxy: bool
    database: URL
    encrypted: bool
    mail: bool


def refuse_unsafe(app: Flask, settings: Settings) -> None:
    """Raises ConfigurationError for the worst."""
    for sentence in refused_settings(settings, app.config.get("SECRET_KEY"), debug=app.debug):
        raise ConfigurationError(sentence)


def refused_settings(settings: Settings, secret: object, *, debug: bool) -> Iterator[str]:
    """A sentence for each setting with which the service must not start.

    On http, which is for this machine only, a short secret is nobody's danger.
    """
    token_keys = parse_keys(f"{PREFIX}TOKEN_KEYS", settings.token_keys)
    sealing_keys = parse_keys(f"{PREFIX}SEALING_KEYS", settings.sealing_keys)
    if set(token_keys) & set(sealing_keys):
        yield (
            "A key in IDSYNC_TOKEN_KEYS is in IDSYNC_SEALING_KEYS too. They are given to different "
            "places and replaced at different times: make another one."
        )
    written = {_text(base64.urlsafe_b64encode(key)) for key in (*token_keys, *sealing_keys)}
    if secret and _text(secret) in written:
        yield (
            "SECRET_KEY is one of the keys in IDSYNC_TOKEN_KEYS or IDSYNC_SEALING_KEYS: make "
            "another one."
        )
    if not settings.issuer.startswith("https://"):
        return
    if debug:
        yield (
            "Debug mode is on, and IDSYNC_ISSUER is an https address. Debug mode shows visitors "
            "tracebacks and a console: turn it off."
        )
    if secret and _is_guessable(_text(secret)):
        yield (
            "SECRET_KEY can be guessed: it is short, or stands in an example. Whoever knows it "
            "can sign in as anybody. Make one with: "
            'python3 -c "import secrets; print(secrets.token_urlsafe(32))"'
        )
    if any(len(set(key)) < FEWEST_DIFFERENT for key in (*token_keys, *sealing_keys)):
        yield "A key in IDSYNC_TOKEN_KEYS or IDSYNC_SEALING_KEYS is not random: make another one."


def circumstances(app: Flask, *, mail: bool) -> Circumstances:
    """Those of this application; inside an application context."""
    engine = app.extensions["sqlalchemy"].engine
    options = app.config.get("SQLALCHEMY_ENGINE_OPTIONS", {}).get("connect_args", {})
    sslmode = (
        engine.url.query.get("sslmode") or options.get("sslmode") or os.environ.get("PGSSLMODE")
    )
    return Circumstances(
        config=app.config,
        debug=app.debug,
        behind_proxy=_has_proxy_fix(app.wsgi_app),
        database=engine.url,
        encrypted=sslmode in ENCRYPTED,
        mail=mail,
    )


def unsafe_settings(settings: Settings, its: Circumstances) -> list[str]:
    """One sentence for each setting an operator should change before people depend on it."""
    return [
        *_about_the_site(settings, its),
        *_about_cookies(settings, its.config),
        *_about_machines(settings, its),
        *_about_passwords(settings),
    ]


def _about_the_site(settings: Settings, its: Circumstances) -> Iterator[str]:
    if its.debug:
        yield "Debug mode is on: tracebacks and a console are shown to visitors."
    if not settings.issuer:
        yield "IDSYNC_ISSUER is not set."
    elif settings.issuer.startswith("http://"):
        yield "IDSYNC_ISSUER is http: good for this machine only."
    if its.config.get("WTF_CSRF_ENABLED") is False:
        yield "WTF_CSRF_ENABLED is off: other sites can send the forms of signed-in people."
    if not its.mail:
        yield (
            "IDSYNC_MAIL_SENDER is console: no mail is sent, so nobody can replace a forgotten "
            "password or hears of changes to their account."
        )
    if settings.refresh_retry_seconds > LONGEST_RETRY:
        yield (
            f"IDSYNC_REFRESH_RETRY_SECONDS above {LONGEST_RETRY} weakens the detection of replays."
        )


def _about_cookies(settings: Settings, config: Mapping[str, Any]) -> Iterator[str]:
    if settings.issuer.startswith("https://") and not config["SESSION_COOKIE_SECURE"]:
        yield "SESSION_COOKIE_SECURE is off although the issuer is https."
    if not config["SESSION_COOKIE_HTTPONLY"]:
        yield "SESSION_COOKIE_HTTPONLY is off: scripts can read the session cookie."
    if config["SESSION_COOKIE_SAMESITE"] not in ("Lax", "Strict"):
        yield "SESSION_COOKIE_SAMESITE should be Lax."
    if config.get("SESSION_COOKIE_DOMAIN"):
        yield "SESSION_COOKIE_DOMAIN gives the session cookie to every host below that domain."
    if len(_text(config["SECRET_KEY"] or "")) < GOOD_SECRET:
        yield f"SECRET_KEY is shorter than {GOOD_SECRET} characters."


def _about_machines(settings: Settings, its: Circumstances) -> Iterator[str]:
    """What depends on what else runs where. On http all of it is on this machine."""
    if not settings.issuer.startswith("https://"):
        return
    if not its.behind_proxy:
        yield (
            "No ProxyFix is there (HOST_PROXIES is 0 in the reference host). If a reverse proxy "
            "stands before the service, everybody has its address, and a guesser uses up the "
            "tries of all."
        )
    counted_here = settings.limits_storage.startswith("memory:")
    if counted_here:
        yield (
            "IDSYNC_LIMITS_STORAGE is memory: each process counts tries alone, so with several "
            "a guesser gets several times as many. Name a Redis."
        )
    if its.database.get_backend_name() == "sqlite":
        if its.database.database in (None, "", ":memory:"):
            yield "The database is in memory: everything is lost when the process ends."
        elif not counted_here and not is_loopback(urlsplit(settings.limits_storage).hostname):
            yield (
                "The database is a SQLite file, and tries are counted on another machine: several "
                "hosts, it seems. Each would have accounts of its own; use PostgreSQL."
            )
    elif _is_elsewhere(its.database) and not its.encrypted:
        yield (
            "The database is on another machine, and TLS is not insisted on: add "
            "sslmode=verify-full to its address."
        )


def _about_passwords(settings: Settings) -> Iterator[str]:
    if settings.pbkdf2_iterations < OWASP_ITERATIONS and settings.password_exchange:
        yield (f"IDSYNC_PBKDF2_ITERATIONS is below the {OWASP_ITERATIONS} that OWASP recommends.")
    memory, passes = OWASP_ARGON2
    if settings.argon2_memory_kib < memory or settings.argon2_time_cost < passes:
        yield (
            f"IDSYNC_ARGON2_MEMORY_KIB is below {memory} or IDSYNC_ARGON2_TIME_COST below {passes},"
            " the least that OWASP recommends."
        )


def _has_proxy_fix(wsgi: Any) -> bool:
    """Whether Werkzeug's ProxyFix is among the layers around the application."""
    while wsgi is not None and not isinstance(wsgi, ProxyFix):
        wsgi = getattr(wsgi, "app", None)
    return wsgi is not None


def _is_guessable(secret: str) -> bool:
    return (
        len(secret) < SHORTEST_SECRET
        or len(set(secret)) < FEWEST_DIFFERENT
        or _PLACEHOLDER.search(secret) is not None
    )


def _is_elsewhere(database: URL) -> bool:
    """Whether the way to the database leaves this machine; a path is a socket file."""
    host = database.host or database.query.get("host") or ""
    return (
        isinstance(host, str) and bool(host) and not host.startswith("/") and not is_loopback(host)
    )


def _text(value: object) -> str:
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    return text.rstrip("=")
