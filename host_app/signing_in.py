"""Signing in by password, and signing out."""

from __future__ import annotations

from flask import Blueprint, redirect, render_template, request, url_for
from flask_babel import gettext, lazy_gettext
from flask_login import current_user
from flask_wtf import FlaskForm
from werkzeug.wrappers import Response
from wtforms import PasswordField, StringField, SubmitField
from wtforms.validators import InputRequired, Length

from host_app.models import identity
from host_app.next_address import local_path

blueprint = Blueprint("signing_in", __name__)

LONGEST_PASSWORD = 1024
"""Characters; a hash of more costs the service time and gives nobody more security."""


class SignInForm(FlaskForm):  # type: ignore[misc]
    """E-mail address and password."""

    # Not type="email": Chromium refuses addresses whose name is not ASCII.
    email = StringField(
        lazy_gettext("E-mail address"),
        [InputRequired(lazy_gettext("Please enter your e-mail address.")), Length(max=254)],
        render_kw={
            "autocomplete": "username",
            "autocapitalize": "none",
            "inputmode": "email",
            "spellcheck": "false",
        },
    )
    password = PasswordField(
        lazy_gettext("Password"),
        [
            InputRequired(lazy_gettext("Please enter your password.")),
            Length(max=LONGEST_PASSWORD),
        ],
        render_kw={"autocomplete": "current-password"},
    )
    submit = SubmitField(lazy_gettext("Sign in"))


@blueprint.route("/sign-in", methods=["GET", "POST"])
def sign_in() -> Response | str | tuple[str, int]:
    """Ask for the password; then go on to `next`, or to the start page."""
    destination = local_path(request.args.get("next"))
    if current_user.is_authenticated and destination is None:
        return redirect(url_for("start.page"))
    form = SignInForm()
    if not form.is_submitted():
        return render_template("sign_in.html", form=form)
    if form.validate():
        user = identity.find_user(form.email.data)
        if identity.check_password(user, form.password.data) and identity.sign_in(user):
            return redirect(destination or url_for("start.page"), 303)
        # One answer for an unknown, a mistyped and a disabled account: it gives nobody away.
        form.form_errors.append(gettext("The e-mail address or the password is wrong."))
    return render_template("sign_in.html", form=form), 422


@blueprint.post("/sign-out")
def sign_out() -> Response:
    """End the session of this browser."""
    identity.sign_out()
    return redirect(url_for("start.page"), 303)
