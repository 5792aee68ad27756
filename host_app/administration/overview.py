"""The first page of the console."""

from __future__ import annotations

from flask import render_template

from host_app.administration.entrance import blueprint, console


@blueprint.get("")
def overview() -> str:
    """What happened in the last days, and how far each service has come."""
    return render_template(
        "administration/overview.html",
        days=console().overview.days(),
        services=console().services.all(),
    )
