"""Changing one's password, and signing out everywhere."""

from __future__ import annotations

from flask import Blueprint, flash, redirect, render_template, url_for
from flask_babel import gettext, lazy_gettext
from flask_login import current_user, login_required
from flask_wtf import FlaskForm
from werkzeug.wrappers import Response
from wtforms import PasswordField, SubmitField
from wtforms.validators import EqualTo, InputRequired, Length

from host_app.models import User, db, identity
from host_app.signing_in import LONGEST_PASSWORD
from idsync import SHORTEST_PASSWORD, InvalidValue

blueprint = Blueprint("password", __name__, url_prefix="/security")


class NewPasswordForm(FlaskForm):  # type: ignore[misc]
    """A new password, twice."""

    new = PasswordField(
        lazy_gettext("New password"),
        [
            InputRequired(lazy_gettext("Please enter a new password.")),
            Length(max=LONGEST_PASSWORD),
        ],
        render_kw={"autocomplete": "new-password"},
    )
    again = PasswordField(
        lazy_gettext("The same once more"),
        [EqualTo("new", lazy_gettext("The two passwords are not the same."))],
        render_kw={"autocomplete": "new-password"},
    )
    submit = SubmitField(lazy_gettext("Change the password"))

    def refuse(self) -> None:
        """Say what a password needs."""
        self.new.errors = [
            gettext(
                "A password needs at least %(number)d characters; a few words are best.",
                number=SHORTEST_PASSWORD,
            )
        ]


@blueprint.route("/password", methods=["GET", "POST"])
@login_required  # type: ignore[untyped-decorator]
def change() -> Response | tuple[str, int]:
    """Ask for a new password; every other browser and application is signed out."""
    # A sign-in of the last minutes stands for the old password: some people have none.
    identity.require_recent_sign_in(current_user)
    form = NewPasswordForm()
    status = 200
    if form.is_submitted():
        if form.validate():
            signed_in, user = identity.signed_in(), current_user._get_current_object()
            if _was_set(form, user):
                db.session.commit()
                if signed_in is not None:
                    identity.sign_in(user, amr=signed_in.amr, auth_time=signed_in.auth_time)
                flash(gettext("Your password is changed. All other browsers are signed out."))
                return redirect(url_for("security.page"), 303)
        status = 422
    name = current_user.email or current_user.name
    cancel = url_for("security.page")
    return render_template("password.html", form=form, name=name, cancel=cancel), status


@blueprint.post("/sign-out-everywhere")
@login_required  # type: ignore[untyped-decorator]
def sign_out_everywhere() -> Response:
    """End every session and every application's access, here too."""
    identity.sign_out_everywhere(current_user)
    flash(gettext("You are signed out everywhere."))
    return redirect(url_for("signing_in.sign_in"), 303)


def _was_set(form: NewPasswordForm, user: User) -> bool:
    try:
        identity.set_password(user, form.new.data)
    except InvalidValue:
        form.refuse()
        return False
    return True
