"""What a change of an account is, and the rules of who may make it. No database."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from idsync.accounts.record import (
    DISABLED_BY_ADMINISTRATOR,
    DISABLED_BY_SERVICE,
    AccountRecord,
)
from idsync.audit.events import Actor
from idsync.crypto import identifiers
from idsync.errors import InvalidValue


class Unset(Enum):
    """The value of a field that a change leaves alone; None means "none"."""

    UNSET = "unset"


UNSET = Unset.UNSET


@dataclass(frozen=True, slots=True)
class Change:
    """What to change in an account.

    password: the plain text. verifier: an exchange hash as a service sends it. At most one of both.
    """

    name: str | Unset = UNSET
    email: str | Unset | None = UNSET
    phone: str | Unset | None = UNSET
    password: str | Unset | None = UNSET
    verifier: str | Unset | None = UNSET
    tags_add: tuple[str, ...] = ()
    tags_remove: tuple[str, ...] = ()
    disabled: bool | Unset = UNSET
    administrator: bool | Unset = UNSET

    def names(self) -> list[str]:
        """The fields that are set, for the audit log."""
        return [name for name in self.__slots__ if getattr(self, name) not in (UNSET, ())]

    def takes_administrator_away(self) -> str:
        """The field by which somebody would lose the console; empty where none does."""
        if self.administrator is False:
            return "administrator"
        return "disabled" if self.disabled is True else ""


def protect_administrator(record: AccountRecord, change: Change) -> None:
    """Refuse what a service may not change in an administrator's account. Raises InvalidValue."""
    if not record.administrator:
        return
    for field in ("email", "verifier", "disabled"):
        if getattr(change, field) is not UNSET:
            name = "password" if field == "verifier" else field
            raise InvalidValue(name, "of an administrator can only be changed by an administrator")


def change_disabled(record: AccountRecord, disabled: bool, actor: Actor) -> None:
    """Disable, which ends everything the account holds, or enable."""
    by_service = actor.kind == "service"
    if disabled:
        if record.disabled_by is None:
            record.epoch = identifiers.new_epoch()
        if record.disabled_by != DISABLED_BY_ADMINISTRATOR:
            record.disabled_by = DISABLED_BY_SERVICE if by_service else DISABLED_BY_ADMINISTRATOR
    elif record.disabled_by == DISABLED_BY_ADMINISTRATOR and by_service:
        raise InvalidValue("disabled", "an administrator disabled this account")
    else:
        record.disabled_by = None


def values_of(record: AccountRecord) -> dict[str, Any]:
    """What may differ after a change, by the names that the audit log has for it."""
    return {
        "name": record.user.name,
        "email": record.user.email,
        "phone": record.phone,
        "password": record.password,
        "tags": record.tags,
        "disabled": record.disabled_by,
        "administrator": record.administrator,
    }


def differences(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What an event says of a change: `fields` that differ, which tags, and whether somebody may
    sign in or use the console now; empty where nothing differs.

    What was sent and was held already is no change.
    """
    fields = [name for name, value in after.items() if value != before[name]]
    if not fields:
        return {}
    details: dict[str, Any] = {"fields": fields}
    if "tags" in fields:
        details["tags_added"] = sorted({*after["tags"]} - {*before["tags"]})
        details["tags_removed"] = sorted({*before["tags"]} - {*after["tags"]})
    if "disabled" in fields:
        details["disabled"] = after["disabled"] is not None
    if "administrator" in fields:
        details["administrator"] = after["administrator"]
    return details
