"""Which settings are unsafe: plain sentences over values."""

from __future__ import annotations

from flask import current_app

from idsync.settings import Settings


def unsafe_settings(settings: Settings) -> list[str]:
    """One sentence for each setting an operator should change before people depend on it."""
    config, warnings = current_app.config, []
    if current_app.debug:
        warnings.append("Debug mode is on: tracebacks and a console are shown to visitors.")
    if not settings.issuer:
        warnings.append("IDSYNC_ISSUER is not set.")
    if settings.issuer.startswith("http://"):
        warnings.append("IDSYNC_ISSUER is http: good for this machine only.")
    elif not config["SESSION_COOKIE_SECURE"]:
        warnings.append("SESSION_COOKIE_SECURE is off although the issuer is https.")
    if not config["SESSION_COOKIE_HTTPONLY"]:
        warnings.append("SESSION_COOKIE_HTTPONLY is off: scripts can read the session cookie.")
    if config["SESSION_COOKIE_SAMESITE"] not in ("Lax", "Strict"):
        warnings.append("SESSION_COOKIE_SAMESITE should be Lax.")
    if len(config["SECRET_KEY"] or "") < 32:
        warnings.append("SECRET_KEY is shorter than 32 characters.")
    if settings.pbkdf2_iterations < 600_000 and settings.password_exchange:
        warnings.append("IDSYNC_PBKDF2_ITERATIONS is below the 600000 that OWASP recommends.")
    if settings.refresh_retry_seconds > 60:
        warnings.append("IDSYNC_REFRESH_RETRY_SECONDS above 60 weakens the detection of replays.")
    return warnings
