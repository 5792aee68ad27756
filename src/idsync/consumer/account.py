"""An account as the identity service gives it, checked field by field."""

from __future__ import annotations

import datetime as dt
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from idsync.consumer.errors import UnreadableAnswer


@dataclass(frozen=True, slots=True)
class Account:
    """A person as the identity service knows them.

    `password` is an exchange hash, or None where there is none a service could check.
    """

    id: str
    name: str
    email: str | None
    tags: tuple[str, ...]
    roles: tuple[str, ...]
    disabled: bool
    mfa: bool
    password: str | None = field(repr=False)
    updated_at: dt.datetime
    """UTC, without an offset, as it travels."""


def email_key(email: str) -> str:
    """The form in which the identity service compares e-mail addresses."""
    return unicodedata.normalize("NFKC", email.strip()).casefold()


def read_account(value: Any) -> Account:
    """The account in a decoded JSON value.

    Fields that we do not know are passed over. One that is missing is not guessed: a forgotten
    `mfa` must not read as false. Raises UnreadableAnswer.
    """
    if not isinstance(value, dict):
        raise UnreadableAnswer("An account in the answer is not a JSON object.")
    return Account(
        id=_text(value, "id"),
        name=_text(value, "name"),
        email=_text_or_none(value, "email"),
        tags=_texts(value, "tags"),
        roles=_texts(value, "roles"),
        disabled=_flag(value, "disabled"),
        mfa=_flag(value, "mfa"),
        password=_text_or_none(value, "password"),
        updated_at=_time(value, "updated_at"),
    )


def checked_text(value: Any, name: str) -> str:
    """A text that any database can store. Raises UnreadableAnswer."""
    if not isinstance(value, str):
        raise UnreadableAnswer(f"{name} in the answer is not text.")
    # NUL is refused by PostgreSQL; half a character (a lone surrogate) by every driver.
    if "\0" in value or (not value.isascii() and not _encodes(value)):
        raise UnreadableAnswer(f"{name} in the answer has characters that cannot be stored.")
    return value


def to_json(texts: tuple[str, ...]) -> str:
    """A list of texts as JSON."""
    return json.dumps(texts, ensure_ascii=False)


def _encodes(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _given(value: Mapping[str, Any], name: str) -> Any:
    try:
        return value[name]
    except KeyError:
        raise UnreadableAnswer(f"An account in the answer has no {name}.") from None


def _text(value: Mapping[str, Any], name: str) -> str:
    return checked_text(_given(value, name), name)


def _text_or_none(value: Mapping[str, Any], name: str) -> str | None:
    given = _given(value, name)
    return None if given is None else checked_text(given, name)


def _texts(value: Mapping[str, Any], name: str) -> tuple[str, ...]:
    given = _given(value, name)
    if not isinstance(given, list):
        raise UnreadableAnswer(f"{name} in the answer is not a list.")
    return tuple(checked_text(one, name) for one in given)


def _flag(value: Mapping[str, Any], name: str) -> bool:
    given = _given(value, name)
    if not isinstance(given, bool):
        raise UnreadableAnswer(f"{name} in the answer is neither true nor false.")
    return given


def _time(value: Mapping[str, Any], name: str) -> dt.datetime:
    try:
        time = dt.datetime.fromisoformat(_text(value, name))
    except ValueError:
        raise UnreadableAnswer(f"{name} in the answer is not a date and time.") from None
    return time if time.tzinfo is None else time.astimezone(dt.UTC).replace(tzinfo=None)
