"""The start page: who is signed in here."""

from __future__ import annotations

from flask import Blueprint, render_template
from flask_login import current_user

blueprint = Blueprint("start", __name__)


@blueprint.get("/")
def page() -> str:
    """Say who is signed in, or offer to sign in."""
    user = current_user if current_user.is_authenticated else None
    return render_template("start.html", user=user)
