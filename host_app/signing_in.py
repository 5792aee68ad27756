"""Signing in by password, the second step, and signing out. `phone.py` has the other first step."""

from __future__ import annotations

from flask import Blueprint, redirect, render_template, request, url_for
from flask_babel import gettext, lazy_gettext
from flask_login import current_user
from flask_wtf import FlaskForm
from werkzeug.wrappers import Response
from wtforms import PasswordField, StringField, SubmitField
from wtforms.validators import InputRequired, Length

from host_app.fields import LONGEST_EMAIL, EmailField
from host_app.headers import with_own_scripts
from host_app.models import identity
from host_app.next_address import local_path

blueprint = Blueprint("signing_in", __name__)

LONGEST_PASSWORD = 1024
"""Characters; a hash of more costs the service time and gives nobody more security."""

CODE_FIELD = {
    "autocomplete": "one-time-code",
    "autocapitalize": "none",
    "spellcheck": "false",
}


class SignInForm(FlaskForm):  # type: ignore[misc]
    """E-mail address and password."""

    email = EmailField(
        lazy_gettext("E-mail address"),
        InputRequired(lazy_gettext("Please enter your e-mail address.")),
        autocomplete="username",
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


class CodeForm(FlaskForm):  # type: ignore[misc]
    """A code, from wherever it comes."""

    code = StringField(
        lazy_gettext("Code"),
        [InputRequired(lazy_gettext("Please enter the code.")), Length(max=40)],
        render_kw=CODE_FIELD,
    )
    submit = SubmitField(lazy_gettext("Continue"))

    def refuse(self, message: str) -> None:
        """Say what is wrong, and make room for another code."""
        self.form_errors.append(message)
        self.code.data = ""


@blueprint.route("/sign-in", methods=["GET", "POST"])
@with_own_scripts
def sign_in() -> Response | tuple[str, int]:
    """Ask for the password; then go on to `next`, or to the start page."""
    destination = next_address()
    if current_user.is_authenticated and destination is None:
        return redirect(url_for("start.page"))
    form = SignInForm(email=identity.request_hints().login_hint[:LONGEST_EMAIL])
    status = 200
    if form.is_submitted():
        if form.validate():
            email = form.email.data
            user = identity.find_user(email)
            if identity.check_password(user, form.password.data, login=email):
                if identity.sign_in(user):
                    return redirect(destination or url_for("start.page"), 303)
                if identity.factors.awaited():
                    return redirect(url_for("signing_in.second_factor", next=destination), 303)
            # One answer for an unknown, a mistyped and a disabled account: it gives nobody away.
            form.form_errors.append(gettext("The e-mail address or the password is wrong."))
        status = 422
    page = render_template(
        "sign_in.html",
        form=form,
        next=destination,
        phone=identity.phone.offered,
        mail=identity.email.offered,
        passkey=identity.passkeys.sign_in_options(),
    )
    return page, status


@blueprint.route("/sign-in/second-factor", methods=["GET", "POST"])
@with_own_scripts
def second_factor() -> Response | tuple[str, int]:
    """Ask for a code of the authenticator app, or a recovery code, after the first step."""
    destination = next_address()
    if not identity.factors.awaited():
        return redirect(url_for("signing_in.sign_in", next=destination))
    form = CodeForm()
    status = 200
    if form.is_submitted():
        if form.validate():
            if identity.factors.complete(form.code.data):
                return redirect(destination or url_for("start.page"), 303)
            form.refuse(gettext("This code is wrong, or was used before."))
        status = 422
    passkey = identity.passkeys.second_step_options()
    page = render_template("second_factor.html", form=form, next=destination, passkey=passkey)
    return page, status


@blueprint.post("/sign-out")
def sign_out() -> Response:
    """End the session of this browser."""
    identity.sign_out()
    return redirect(url_for("start.page"), 303)


def next_address() -> str | None:
    """Where the person was going, on this site."""
    return local_path(request.args.get("next"))
