"""People as values: what an administrator may know of them."""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import dataclass

from idsync.accounts.record import Account
from idsync.signin.factors import Factors


@dataclass(frozen=True, slots=True)
class PersonInList:
    """What a list shows of a person."""

    id: str
    name: str
    email: str | None
    tags: tuple[str, ...]
    disabled: bool
    mfa: bool
    administrator: bool


@dataclass(frozen=True, slots=True)
class PeoplePage:
    """A page of a list. after: what the next page begins behind; None on the last one."""

    people: tuple[PersonInList, ...]
    after: str | None


@dataclass(frozen=True, slots=True)
class Person:
    """Everything an administrator may know of a person; no hash, no secret, not the host's key.

    disabled_by: service or administrator; None while enabled. changed_at: UTC, when anything that
    services see was changed last. version: another one after every change that a form must not
    undo.
    """

    id: str
    name: str
    email: str | None
    email_verified: bool
    phone: str | None
    tags: tuple[str, ...]
    roles: tuple[str, ...]
    disabled_by: str | None
    administrator: bool
    has_password: bool
    factors: Factors
    changed_at: dt.datetime
    version: str


@dataclass(frozen=True, slots=True)
class ErasedPerson:
    """What is left of a person who was erased. erased_at: UTC."""

    id: str
    erased_at: dt.datetime


def listed(one: Account) -> PersonInList:
    """An account as a list shows it."""
    return PersonInList(
        id=one.subject,
        name=one.name,
        email=one.email,
        tags=tuple(sorted(one.tags)),
        disabled=one.disabled,
        mfa=one.mfa,
        administrator=one.administrator,
    )


def version_of(revision: int, phone: str | None) -> str:
    """Which state of a person a form was filled in with. The phone number is nothing that services
    see, so it does not count in the revision.
    """
    return f"{revision}-{hashlib.sha256((phone or '').encode()).hexdigest()[:16]}"
