"""The start page: who is signed in here."""

from __future__ import annotations

from flask import Blueprint, render_template
from flask_login import current_user

from host_app.models import identity

blueprint = Blueprint("start", __name__)


@blueprint.get("/")
def page() -> str:
    """Say who is signed in, or offer to sign in."""
    user = current_user if current_user.is_authenticated else None
    signed_in = identity.signed_in() if user is not None else None
    administrator = signed_in is not None and signed_in.account.administrator
    return render_template("start.html", user=user, administrator=administrator)
