"""Signing in with a code sent to a phone, and changing the number it is sent to."""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask_babel import gettext, lazy_gettext
from flask_login import current_user, login_required
from flask_wtf import FlaskForm
from werkzeug.wrappers import Response
from wtforms import StringField, SubmitField
from wtforms.validators import InputRequired, Length

from host_app.models import identity
from host_app.signing_in import CodeForm, next_address
from idsync import InvalidValue

blueprint = Blueprint("phone", __name__)


class PhoneForm(FlaskForm):  # type: ignore[misc]
    """A phone number."""

    phone = StringField(
        lazy_gettext("Phone number"),
        [InputRequired(lazy_gettext("Please enter your phone number.")), Length(max=32)],
        render_kw={"autocomplete": "tel", "inputmode": "tel"},
    )
    submit = SubmitField(lazy_gettext("Send me a code"))


@blueprint.before_request
def only_where_offered() -> None:
    """Nothing here works where the service sends no messages."""
    if not identity.phone.offered:
        abort(404)


# --- signing in ---------------------------------------------------------------------------------


@blueprint.route("/sign-in/phone", methods=["GET", "POST"])
def ask_number() -> Response | str | tuple[str, int]:
    """Ask for the number and send a code, if the number is somebody's."""
    form, destination = PhoneForm(), next_address()
    status = 200
    if form.is_submitted():
        if form.validate() and _sent(form):
            return redirect(url_for("phone.ask_code", next=destination), 303)
        status = 422
    return render_template("phone.html", form=form, next=destination), status


@blueprint.route("/sign-in/phone/code", methods=["GET", "POST"])
def ask_code() -> Response | str | tuple[str, int]:
    """Ask for the code that was sent."""
    destination = next_address()
    number = identity.phone.requested()
    if number is None:
        return redirect(url_for("phone.ask_number", next=destination))
    form = CodeForm()
    status = 200
    if form.is_submitted():
        if form.validate():
            if identity.phone.sign_in(form.code.data):
                return redirect(destination or url_for("start.page"), 303)
            if identity.factors.awaited():
                return redirect(url_for("signing_in.second_factor", next=destination), 303)
            form.refuse(_wrong_code())
        status = 422
    again = url_for("phone.ask_number", next=destination)
    return render_template("phone_code.html", form=form, number=number, again=again), status


# --- one's own number ---------------------------------------------------------------------------


@blueprint.route("/security/phone", methods=["GET", "POST"])
@login_required  # type: ignore[untyped-decorator]
def change_number() -> Response | str | tuple[str, int]:
    """Ask for a new number and send a code to it."""
    identity.require_recent_sign_in(current_user)
    form = PhoneForm()
    status = 200
    if form.is_submitted():
        if form.validate() and _sent(form, own=True):
            return redirect(url_for("phone.confirm_number"), 303)
        status = 422
    return render_template(
        "own_phone.html", form=form, number=identity.phone.of(current_user)
    ), status


@blueprint.route("/security/phone/code", methods=["GET", "POST"])
@login_required  # type: ignore[untyped-decorator]
def confirm_number() -> Response | str | tuple[str, int]:
    """Ask for the code sent to the new number."""
    identity.require_recent_sign_in(current_user)
    number = identity.phone.requested_change(current_user)
    if number is None:
        return redirect(url_for("phone.change_number"))
    form = CodeForm()
    status = 200
    if form.is_submitted():
        if form.validate() and _confirmed(form):
            flash(gettext("You can sign in with this phone number now."))
            return redirect(url_for("security.page"), 303)
        status = 422
    again = url_for("phone.change_number")
    return render_template("phone_code.html", form=form, number=number, again=again), status


@blueprint.post("/security/phone/remove")
@login_required  # type: ignore[untyped-decorator]
def remove_number() -> Response:
    """Forget the number."""
    identity.phone.remove(current_user)
    flash(gettext("Your phone number is removed."))
    return redirect(url_for("security.page"), 303)


# --- details ------------------------------------------------------------------------------------


def _sent(form: PhoneForm, *, own: bool = False) -> bool:
    try:
        if own:
            identity.phone.request_change(current_user, form.phone.data, _message())
        else:
            identity.phone.request_code(form.phone.data, _message())
    except InvalidValue:
        form.phone.errors = [
            gettext("Please enter the number with its country code, such as +49 30 123456.")
        ]
        return False
    return True


def _confirmed(form: CodeForm) -> bool:
    try:
        if identity.phone.confirm_change(current_user, form.code.data):
            return True
        form.refuse(_wrong_code())
    except InvalidValue:
        form.refuse(gettext("This number belongs to another account."))
    return False


def _wrong_code() -> str:
    return str(gettext("This code is wrong or too old. A code works once, for five minutes."))


def _message() -> str:
    """The text of a message. Its last line lets a browser fill the code in, on this site only."""
    host = urlsplit(identity.settings.issuer or request.host_url).hostname
    text = gettext(
        "%(code)s is your code for %(service)s. Tell it to nobody.", code="{code}", service=host
    )
    return f"{text}\n\n@{host} #{{code}}"
