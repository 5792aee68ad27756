"""The audit log: what happened, found by person, application, kind and time."""

from __future__ import annotations

import datetime as dt
from typing import Any

from flask import Response, render_template, request, stream_with_context
from flask_babel import gettext, lazy_gettext
from flask_wtf import FlaskForm
from wtforms import DateTimeLocalField, SelectField, StringField
from wtforms.fields.choices import SelectChoice
from wtforms.validators import Length, Optional

from host_app.administration.entrance import blueprint, console
from host_app.administration.person_forms import LONGEST_LINE, PLAIN
from host_app.kinds import KINDS

NOBODY = " "
"""No account's id and no actor: what nothing is found by."""


class FilterForm(FlaskForm):  # type: ignore[misc]
    """What to look for; sent in the address, so that a page can be kept as a bookmark."""

    class Meta:
        csrf = False

    person = StringField(
        lazy_gettext("Person"),
        [Length(max=LONGEST_LINE)],
        description=lazy_gettext("Id or e-mail address."),
        render_kw=PLAIN,
    )
    by = StringField(
        lazy_gettext("Done by"),
        [Length(max=LONGEST_LINE)],
        description=lazy_gettext("Id of a person or an application, or e-mail address."),
        render_kw=PLAIN,
    )
    application = SelectField(lazy_gettext("Application"), validate_choice=False)
    kind = SelectField(lazy_gettext("What happened"), validate_choice=False)
    since = DateTimeLocalField(lazy_gettext("From (UTC)"), [Optional()])
    until = DateTimeLocalField(lazy_gettext("Before (UTC)"), [Optional()])

    def fill_choices(self) -> None:
        """The kinds and the applications there are."""
        kinds = sorted((str(KINDS[one]), one) for one in console().log.kinds)
        self.kind.choices = [
            SelectChoice("", gettext("Everything")),
            *(SelectChoice(one, text) for text, one in kinds),
        ]
        self.application.choices = [
            SelectChoice("", gettext("Every application")),
            *(SelectChoice(one.client_id, one.name) for one in console().applications.all()),
        ]

    def filters(self) -> dict[str, Any]:
        """What idsync is asked for."""
        return {
            "subject": _id_of(self.person.data),
            "actor": _id_of(self.by.data),
            "client_id": self.application.data or None,
            "kind": self.kind.data or None,
            "since": _utc(self.since.data),
            "until": _utc(self.until.data),
        }


@blueprint.get("/audit")
def audit() -> tuple[str, int]:
    """A page of events, newest first."""
    form = FilterForm(request.args)
    form.fill_choices()
    before, page, status = request.args.get("before", ""), None, 422
    if form.validate():
        status = 200
        page = console().log.page(before=_number(before), **form.filters())
    events = page.events if page else ()
    ids = [one for event in events for one in (event.subject, event.actor.name) if one]
    # Only fields of the form: url_for has arguments of its own, which are not a visitor's to set.
    given = {one.name: request.args.get(one.name) for one in form}
    return render_template(
        "administration/audit.html",
        form=form,
        page=page,
        names=console().people.names(ids),
        asked={name: value for name, value in given.items() if value},
        first=not before,
    ), status


@blueprint.get("/audit.csv")
def export_audit() -> Response | tuple[str, int]:
    """The same events, all of them, as they are read: nothing is gathered."""
    form = FilterForm(request.args)
    form.fill_choices()
    if not form.validate():
        return audit()
    name = f"audit-{dt.datetime.now(dt.UTC):%Y-%m-%d}.csv"
    return Response(
        stream_with_context(console().log.csv(**form.filters())),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _id_of(typed: str | None) -> str | None:
    """The id somebody meant who typed an id or an e-mail address."""
    typed = (typed or "").strip()
    if "@" not in typed:
        return typed or None
    return console().people.id_by_email(typed) or NOBODY


def _utc(time: dt.datetime | None) -> dt.datetime | None:
    return None if time is None else time.replace(tzinfo=dt.UTC)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
