"""What a line of a file says about a person, and what it may say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from idsync.accounts.rules import (
    checked_email,
    checked_name,
    checked_phone,
    checked_subject,
    checked_tags,
)
from idsync.errors import InvalidValue

ReadHash = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Person:
    """A person in a file. password: an exchange hash.

    Whether somebody is an administrator is not said in files: that right is given to one person at
    a time. Nor are second factors, which belong to devices.
    """

    name: str
    id: str | None = None
    email: str | None = None
    email_verified: bool = False
    phone: str | None = None
    tags: tuple[str, ...] = ()
    disabled: bool = False
    password: str | None = field(default=None, repr=False)

    def values(self) -> dict[str, Any]:
        """By the names of the fields, as JSON has them."""
        return {**asdict(self), "tags": list(self.tags)}


FIELDS = tuple(one.name for one in fields(Person))
FLAGS = ("email_verified", "disabled")


def read_person(values: Mapping[str, Any], read_hash: ReadHash) -> Person:
    """The person in a line, in the form it is stored. Raises InvalidValue naming the field.

    read_hash: gives the exchange form of a password hash, or raises InvalidValue.
    """
    for name in values:
        if name not in FIELDS:
            raise InvalidValue(name, "is no field; known are %(known)s", known=", ".join(FIELDS))
    for name in ("name", "id", "email", "phone", "password"):
        if not isinstance(values.get(name), str | None):
            raise InvalidValue(name, "must be text")
    for name in FLAGS:
        if not isinstance(values.get(name), bool | None):
            raise InvalidValue(name, "must be true or false")
    tags = values.get("tags") or []
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise InvalidValue("tags", "must be a list of texts")
    subject, email, phone, password = (
        values.get(name) or None for name in ("id", "email", "phone", "password")
    )
    if subject is None and email is None:
        raise InvalidValue(
            "id", "an id or an e-mail address is needed to know the person by in another import"
        )
    return Person(
        name=checked_name(values.get("name") or ""),
        id=None if subject is None else checked_subject(subject),
        email=None if email is None else checked_email(email),
        email_verified=bool(values.get("email_verified")) and email is not None,
        phone=None if phone is None else checked_phone(phone),
        tags=tuple(checked_tags("tags", tags)),
        disabled=bool(values.get("disabled")),
        password=None if password is None else read_hash(password),
    )
