"""How values are written on the pages of the console."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from flask_babel import format_date, format_datetime, format_timedelta, gettext
from flask_wtf import FlaskForm
from markupsafe import Markup, escape

from host_app.kinds import KINDS
from idsync import InvalidValue


def moment(time: dt.datetime | None) -> str | Markup:
    """A time, to the second and in UTC, as people write it."""
    if time is None:
        return gettext("never")
    written = gettext("%(time)s UTC", time=format_datetime(time, "d MMM y, HH:mm:ss"))
    return Markup('<time datetime="{}">{}</time>').format(time.isoformat(), written)


def day(date: dt.date) -> str:
    """A day."""
    return str(format_date(date, "d MMM"))


def duration(time: dt.timedelta) -> str:
    """How long something took."""
    return str(format_timedelta(time, threshold=1))


def kind(name: str) -> str:
    """What happened, in words; as it is written where it is none of idsync's own."""
    return str(KINDS.get(name, name))


def details(values: Mapping[str, Any]) -> str:
    """The details of an event, one after the other."""
    return "; ".join(f"{name}: {_text(value)}" for name, value in values.items() if value != [])


def refusal(error: InvalidValue) -> str:
    """Why a value was refused, in the visitor's language."""
    return str(gettext(error.template, **error.values))


def put_at_field(form: FlaskForm, error: InvalidValue) -> None:
    """Say at its field what was wrong; above the form where it has no such field."""
    text = refusal(error)
    if error.field in form:
        field = form[error.field]
        field.errors = [*field.errors, text]
    else:
        form.form_errors.append(text)


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(one) for one in value)
    return str(value)


def safe_lines(values: tuple[str, ...]) -> Markup:
    """Addresses, a line each."""
    return Markup("<br>").join(escape(one) for one in values)


SHOWN = {
    "moment": moment,
    "day": day,
    "duration": duration,
    "kind": kind,
    "details": details,
    "lines": safe_lines,
}
