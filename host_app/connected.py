"""The applications a person has connected: what each may see, and a button to take it back."""

from __future__ import annotations

import datetime as dt

from flask import Blueprint, flash, redirect, render_template, url_for
from flask_babel import format_date, gettext
from flask_login import current_user, login_required
from werkzeug.wrappers import Response

from host_app.models import identity

blueprint = Blueprint("connected", __name__)


@blueprint.get("/applications")
@login_required  # type: ignore[untyped-decorator]
def page() -> str:
    """List them, by name."""
    return render_template(
        "connected.html", applications=identity.connected_applications(current_user), day=_day
    )


@blueprint.post("/applications/<client_id>/disconnect")
@login_required  # type: ignore[untyped-decorator]
def disconnect(client_id: str) -> Response:
    """Take an application's rights back: its tokens end now, and it has to ask again."""
    named = {one.client_id: one.name for one in identity.connected_applications(current_user)}
    if client_id in named:
        identity.disconnect(current_user, client_id)
        flash(gettext("%(name)s has no access any more.", name=named[client_id]))
    return redirect(url_for("connected.page"), 303)


def _day(seconds: int | None) -> str:
    if seconds is None:
        return gettext("never")
    return str(format_date(dt.datetime.fromtimestamp(seconds, dt.UTC), "long"))
