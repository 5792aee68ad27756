"""The records of the account API as they travel, and how a request's body becomes one of them.

msgspec checks the types. What it lets pass is refused before: duplicate keys, bad UTF-8, nesting
too deep to read.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from idsync.accounts.rules import LONGEST_EMAIL, LONGEST_NAME, LONGEST_TAG
from idsync.errors import InvalidValue

JSON_TYPE = "application/json"
LONGEST_BODY = 65_536
"""Bytes of a request's body; a real one has a few hundred."""

# What only the description says; the rules behind say it better than msgspec could.
ID_SCHEMA = {"pattern": "^[A-Za-z0-9._~-]{1,64}$"}
_HASH = {"pattern": r"^pbkdf2\$[1-9][0-9]*\$[!-#%-~]{1,256}\$[0-9A-Za-z+/_=-]{43,64}$"}
_SECONDS = {"pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$"}

Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
Email = Annotated[
    str, Meta(min_length=1, max_length=LONGEST_EMAIL, extra_json_schema={"format": "idn-email"})
]
Tag = Annotated[str, Meta(min_length=1, max_length=LONGEST_TAG)]
Id = Annotated[str, Meta(extra_json_schema=ID_SCHEMA)]
Hash = Annotated[
    str,
    Meta(
        description="PBKDF2-SHA256 in the form pbkdf2$<iterations>$<salt>$<hash>, never a password",
        extra_json_schema=_HASH,
    ),
]


class AccountOut(Struct, frozen=True, gc=False):
    """An account. `password` is null where there is none that a service could check."""

    id: Id
    name: str
    email: str | None
    tags: list[str]
    roles: list[str]
    disabled: bool
    mfa: bool
    password: Hash | None
    updated_at: Annotated[
        str,
        Meta(description="UTC, YYYY-MM-DDThh:mm:ss without an offset", extra_json_schema=_SECONDS),
    ]


class AccountList(Struct, frozen=True, omit_defaults=True):
    """Accounts and where to go on from. `removed` comes with changes only."""

    accounts: list[AccountOut]
    cursor: Annotated[str, Meta(description="send it as `since` to get only what changed")]
    complete: Annotated[bool, Meta(description="false: only changes; true: take this list whole")]
    removed: (
        Annotated[list[str], Meta(description="ids of accounts that are erased, or not of the tag")]
        | UnsetType
    ) = UNSET


class CreateAccount(Struct, frozen=True, forbid_unknown_fields=True):
    """A new person, or the tags for somebody who exists already."""

    name: Name
    email: Email | None = None
    password: Hash | None = None
    tags: list[Tag] = []
    id: Annotated[Id, Meta(description="your own id for the account")] | UnsetType = UNSET


class CreatedAccount(Struct, frozen=True):
    """The answer to a creation. Use `id` from now on, also where the account existed."""

    existed: bool
    id: Id
    account: AccountOut


class ChangeAccount(Struct, frozen=True, forbid_unknown_fields=True):
    """What to change; fields left out stay as they are."""

    name: Name | UnsetType = UNSET
    email: Email | UnsetType | None = UNSET
    password: Hash | UnsetType = UNSET
    tags_add: list[Tag] = []
    tags_remove: list[Tag] = []
    disabled: bool | UnsetType = UNSET


class Service(Struct, frozen=True):
    """A first-party service and the tag that gives access to it."""

    tag: str
    name: str


class ServiceList(Struct, frozen=True):
    """The tags of all first-party services."""

    services: list[Service]


class ErrorOut(Struct, frozen=True):
    """A refusal: what is wrong, in words a person can act on."""

    error: str


class ClientRefusedOut(Struct, frozen=True):
    """The caller is not an active application with a secret and the right `accounts`."""

    error: Literal["invalid_client"]
    error_description: str


R = TypeVar("R", CreateAccount, ChangeAccount)

_PATH = re.compile(r"(?P<message>.*) - at `\$\.?(?P<path>[^`]*)`", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<field>.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<field>.*)`")
_LENGTH = re.compile(r"expected str of length (?P<sign>[<>]=) (?P<length>\d+)")


def read_body(raw: bytes, content_type: str, record: type[R]) -> R:
    """The record in a request's body. Raises InvalidValue naming the field."""
    if content_type != JSON_TYPE:
        raise InvalidValue("body", "send JSON with the content type %(type)s", type=JSON_TYPE)
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=_without_duplicates)
    except UnicodeDecodeError:
        raise InvalidValue("body", "is not UTF-8") from None
    except RecursionError:
        raise InvalidValue("body", "is nested too deeply") from None
    except ValueError:
        raise InvalidValue("body", "is not JSON") from None
    try:
        return msgspec.convert(value, record)
    except msgspec.ValidationError as error:
        raise _named(str(error)) from None
    except UnicodeEncodeError:
        raise InvalidValue("body", "has a key with half a character (a surrogate)") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise InvalidValue(legible(key), "is there more than once")
        values[key] = value
    return values


def _named(message: str) -> InvalidValue:
    """msgspec's message with the field in front."""
    if match := _UNKNOWN.fullmatch(message):
        return InvalidValue(legible(match["field"]), "is not a field of this request")
    if match := _MISSING.fullmatch(message):
        return InvalidValue(match["field"], "is required")
    field = "body"
    if match := _PATH.fullmatch(message):
        message, field = match["message"], match["path"] or field
    message = message.replace("`", "").replace("Expected", "expected")
    if match := _LENGTH.fullmatch(message):
        longest = f"longer than {match['length']} characters"
        message = longest if match["sign"] == "<=" else "must not be empty"
    return InvalidValue(field, message)


def legible(key: str) -> str:
    """A key that somebody sent, fit for a message: short, and without invisible characters."""
    shown = key[:LONGEST_TAG] + ("…" if len(key) > LONGEST_TAG else "")
    return shown.encode("unicode_escape").decode() if not shown.isprintable() else shown
