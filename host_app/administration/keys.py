"""The service's keys."""

from __future__ import annotations

from flask import flash, redirect, render_template, request, url_for
from flask_babel import gettext
from werkzeug.exceptions import abort
from werkzeug.wrappers import Response

from host_app.administration.entrance import blueprint, console
from host_app.administration.shown import refusal
from idsync import InvalidValue


@blueprint.get("/keys")
def keys() -> str:
    """Those that sign, and those that seal."""
    signing = console().keys.signing()
    return render_template(
        "administration/keys.html",
        signing=signing,
        algorithms=sorted({one.algorithm for one in signing}),
        sealing=console().keys.sealing(),
    )


@blueprint.post("/keys/rotate")
def rotate_key() -> Response:
    """Make a new signing key, which signs ten minutes later."""
    algorithm = request.form.get("algorithm", "")
    if algorithm not in {one.algorithm for one in console().keys.signing()}:
        abort(400)
    try:
        console().keys.rotate(algorithm)
        flash(gettext("A new key is published. It signs in ten minutes."))
    except InvalidValue as error:
        flash(refusal(error), "danger")
    return redirect(url_for(".keys"), 303)


@blueprint.post("/keys/<kid>/retire")
def retire_key(kid: str) -> Response:
    """Withdraw a signing key."""
    try:
        console().keys.retire(kid)
        flash(gettext("The key is retired: what it signed is not accepted any more."))
    except InvalidValue as error:
        flash(refusal(error), "danger")
    return redirect(url_for(".keys"), 303)
