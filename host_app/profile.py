"""A person's own name and e-mail address."""

from __future__ import annotations

from flask import Blueprint, abort, flash, redirect, render_template, url_for
from flask_babel import gettext, lazy_gettext
from flask_login import current_user, login_required
from flask_wtf import FlaskForm
from werkzeug.wrappers import Response
from wtforms import StringField, SubmitField
from wtforms.validators import DataRequired, InputRequired, Length

from host_app.fields import EmailField
from host_app.models import identity
from idsync import InvalidValue

blueprint = Blueprint("profile", __name__, url_prefix="/profile")


class NameForm(FlaskForm):  # type: ignore[misc]
    """A name."""

    name = StringField(
        lazy_gettext("Your name"),
        [DataRequired(lazy_gettext("Please enter your name.")), Length(max=200)],
        render_kw={"autocomplete": "name"},
    )
    submit = SubmitField(lazy_gettext("Save"))


class NewAddressForm(FlaskForm):  # type: ignore[misc]
    """A new e-mail address."""

    email = EmailField(
        lazy_gettext("New e-mail address"),
        InputRequired(lazy_gettext("Please enter an e-mail address.")),
        autocomplete="email",
    )
    submit = SubmitField(lazy_gettext("Send a link to it"))


class ConfirmForm(FlaskForm):  # type: ignore[misc]
    """A button."""

    submit = SubmitField(lazy_gettext("This is my address"))


@blueprint.route("", methods=["GET", "POST"])
@login_required  # type: ignore[untyped-decorator]
def page() -> Response | tuple[str, int]:
    """The name, which can be changed here, and the e-mail address."""
    form = NameForm(obj=current_user)
    status = 200
    if form.is_submitted():
        if form.validate() and _renamed(form):
            flash(gettext("Your name is changed."))
            return redirect(url_for("profile.page"), 303)
        status = 422
    return render_template(
        "profile.html",
        form=form,
        email=_email(),
        mail_offered=identity.email.offered,
        confirmed=identity.email.is_confirmed(current_user),
    ), status


@blueprint.route("/email", methods=["GET", "POST"])
@login_required  # type: ignore[untyped-decorator]
def change_email() -> Response | tuple[str, int]:
    """Ask for an address and send a link to it."""
    if not identity.email.offered:
        abort(404)
    identity.require_recent_sign_in(current_user)
    form = NewAddressForm(email=None if identity.email.is_confirmed(current_user) else _email())
    status = 200
    if form.is_submitted():
        if form.validate() and _link_sent(form):
            flash(
                gettext(
                    "If %(email)s belongs to no other account, we sent a link to it. Open it "
                    "within 30 minutes.",
                    email=form.email.data,
                )
            )
            return redirect(url_for("profile.page"), 303)
        status = 422
    return render_template("new_email.html", form=form), status


@blueprint.route("/email/<link>", methods=["GET", "POST"])
@login_required  # type: ignore[untyped-decorator]
def confirm_email(link: str) -> Response | tuple[str, int]:
    """The person opened the link; a button, because programs open links in mails too."""
    email = identity.email.address_of(current_user, link)
    if email is None:
        return _too_late()
    form = ConfirmForm()
    status = 200
    if form.is_submitted():
        if form.validate():
            try:
                if not identity.email.confirm(current_user, link):
                    return _too_late()
            except InvalidValue:
                form.form_errors.append(gettext("This address belongs to another account."))
            else:
                flash(gettext("Your e-mail address is confirmed."))
                return redirect(url_for("profile.page"), 303)
        status = 422
    return render_template("confirm_email.html", form=form, email=email), status


def _renamed(form: NameForm) -> bool:
    try:
        identity.rename(current_user, form.name.data)
    except InvalidValue:
        form.name.errors = [gettext("Please enter a name without invisible characters.")]
        return False
    return True


def _link_sent(form: NewAddressForm) -> bool:
    subject = gettext("Your e-mail address")
    text = gettext(
        "Somebody, most likely you, wants to use this e-mail address for their account. If it was "
        "you, confirm it within 30 minutes:\n\n%(link)s\n\nIf it was not you, do not open it.",
        link="{link}",
    )
    try:
        identity.email.request_change(current_user, form.email.data, subject, text, _path)
    except InvalidValue:
        form.email.errors = [gettext("This is not an e-mail address.")]
        return False
    return True


def _too_late() -> tuple[str, int]:
    page = render_template(
        "error.html",
        title=gettext("This link does not work here"),
        message=gettext(
            "It may be older than 30 minutes, or for another account than yours. Ask for another "
            "one."
        ),
        link=url_for("profile.page"),
        link_text=gettext("Name and e-mail address"),
    )
    return page, 410


def _path(link: str) -> str:
    return url_for("profile.confirm_email", link=link)


def _email() -> str | None:
    email: str | None = current_user.email
    return email
