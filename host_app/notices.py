"""Tells people by mail what changed about how they sign in, whoever changed it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flask import Flask
from flask_babel import force_locale, gettext

from host_app.models import User, identity
from idsync import signals

FIELDS = ("email", "phone", "password")
"""What of an account, when it is changed, concerns its owner's security."""


def init_app(app: Flask) -> None:
    """Send notices for the events of this application."""
    signals.event_recorded.connect(_notice, app)


def _notice(
    app: Flask,
    *,
    kind: str,
    subject: str | None,
    details: dict[str, Any],
    previous_email: str | None,
    **_: Any,
) -> None:
    keys = list(_keys(kind, details))
    if subject is None or not keys:
        return

    def compose(user: User) -> tuple[str, str]:
        with force_locale(user.language or "en"):
            return gettext("The security of your account"), _text(user, keys)

    identity.email.tell(subject, compose, also=previous_email)


def _keys(kind: str, details: dict[str, Any]) -> Iterator[str]:
    """What to tell, by the keys of `_sentences`."""
    if kind == "account changed":
        yield from (field for field in FIELDS if field in details["fields"])
    elif kind in ("second factor added", "second factor removed"):
        yield f"{details['factor']} {kind.rpartition(' ')[2]}"
    else:
        yield from {
            "password changed": ["password"],
            "password chosen by mail": ["password"],
            "second factors reset": ["factors reset"],
            "recovery codes made": ["recovery codes made"],
            "recovery code used": ["recovery code used"],
        }.get(kind, [])


def _sentences() -> dict[str, str]:
    return {
        "password": gettext("Your password was changed."),
        "email": gettext("The e-mail address of your account was changed."),
        "phone": gettext("The phone number of your account was changed."),
        "app added": gettext("An authenticator app was set up for your account."),
        "app removed": gettext("The authenticator app of your account was removed."),
        "passkey added": gettext("A passkey was added to your account."),
        "passkey removed": gettext("A passkey was removed from your account."),
        "factors reset": gettext("All second factors of your account were removed."),
        "recovery codes made": gettext("New recovery codes were made for your account."),
        "recovery code used": gettext("A recovery code was used to sign in to your account."),
    }


def _text(user: User, keys: list[str]) -> str:
    sentences = _sentences()
    advice = gettext(
        "If you know of this, there is nothing to do. If you do not, somebody else may have got "
        "in: go to %(service)s, sign in, change your password, sign out everywhere, and look there "
        "at how you sign in for phone numbers, apps and passkeys that are not yours.",
        service=identity.settings.issuer or gettext("the identity service"),
    )
    if "email" in keys:
        advice += "\n\n" + gettext(
            "Links for a new password go to the new address from now on. If you did not change it, "
            "tell the people who run the service at once."
        )
    hello = gettext("Hello %(name)s,", name=user.name)
    return "\n\n".join((hello, " ".join(sentences[key] for key in keys), advice))
