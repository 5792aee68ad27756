"""What happened to a person's account of late: sign-ins, and changes of how they sign in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, abort, render_template, request
from flask_babel import format_datetime, gettext
from flask_login import current_user, login_required

from host_app.kinds import KINDS
from host_app.models import identity
from idsync import Event

blueprint = Blueprint("activity", __name__)

SHOWN = 50
"""Events on the page."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the page. who: told where it was not the person."""

    when: str
    what: str
    who: str
    address: str


@blueprint.get("/activity")
@login_required  # type: ignore[untyped-decorator]
def page() -> str:
    """The latest events, newest first, or those before one of them."""
    before = request.args.get("before", type=int)
    if before is not None and not 0 < before < 2**63:
        abort(404)
    events = identity.recent_events(current_user, before=before, limit=SHOWN)
    older = events[-1].id if len(events) == SHOWN else None
    return render_template("activity.html", lines=[_line(event) for event in events], older=older)


def _line(event: Event) -> Line:
    own = event.actor.kind in ("person", "visitor") and event.actor.name in (None, event.subject)
    return Line(
        when=str(format_datetime(event.at, "long")),
        what=_what(event),
        who="" if own else _who(event.actor.kind),
        # Where an administrator or a service works from is none of this person's business.
        address=(event.actor.address or "") if own else "",
    )


def _what(event: Event) -> str:
    """The event in words; the kind itself for one that has none."""
    if event.kind == "account changed":
        return str(gettext("Changed: %(what)s", what=_fields(event.details)))
    return str(KINDS.get(event.kind, event.kind))


def _who(actor_kind: str) -> str:
    if actor_kind == "service":
        return str(gettext("by a service"))
    return str(gettext("by an administrator"))


def _fields(details: Mapping[str, Any]) -> str:
    names = {
        "name": gettext("name"),
        "email": gettext("e-mail address"),
        "phone": gettext("phone number"),
        "password": gettext("password"),
        "tags": gettext("services and roles"),
        "disabled": gettext("whether it is disabled"),
        "administrator": gettext("whether it may administer"),
    }
    known = (names.get(field, field) for field in details.get("fields", ()))
    return ", ".join(dict.fromkeys(known))
