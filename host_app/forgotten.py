"""A forgotten password: a link by mail, and a new password by the link."""

from __future__ import annotations

import hashlib

from flask import (
    Blueprint,
    Flask,
    abort,
    flash,
    redirect,
    render_template,
    request,
    session,
    url_for,
)
from flask_babel import gettext, lazy_gettext
from flask_wtf import FlaskForm
from werkzeug.wrappers import Response
from wtforms import HiddenField, SubmitField
from wtforms.validators import InputRequired

from host_app.fields import EmailField
from host_app.models import identity
from host_app.next_address import local_path
from host_app.password import NewPasswordForm
from idsync import InvalidValue, signals

blueprint = Blueprint("forgotten", __name__, url_prefix="/sign-in")

LINK_FIELD = "new_password_link"
NEXT_FIELD = "new_password_next"

LONGEST_NEXT = 1500
"""Characters; what is longer is not kept, because browsers drop cookies of more than 4 KiB."""


class AddressForm(FlaskForm):  # type: ignore[misc]
    """The e-mail address of an account."""

    email = EmailField(
        lazy_gettext("E-mail address"),
        InputRequired(lazy_gettext("Please enter your e-mail address.")),
        autocomplete="username",
    )
    submit = SubmitField(lazy_gettext("Send me a link"))


class LinkedPasswordForm(NewPasswordForm):
    """A new password for the account whose link the page was shown for."""

    account = HiddenField()


def init_app(app: Flask) -> None:
    """Keep what was begun here from whoever uses this browser next."""
    signals.signed_in.connect(forget, app)
    signals.signed_out.connect(forget, app)


def forget(*_: object, **__: object) -> None:
    """Forget the link that was opened, and where the person was going."""
    session.pop(LINK_FIELD, None)
    session.pop(NEXT_FIELD, None)


@blueprint.before_request
def only_where_mail_is_sent() -> None:
    """Nothing here works without mail."""
    if not identity.email.offered:
        abort(404)


@blueprint.route("/forgotten", methods=["GET", "POST"])
def ask_address() -> Response | tuple[str, int]:
    """Ask for the address and send a link, if the address is somebody's."""
    destination = local_path(request.args.get("next"))
    form = AddressForm()
    status = 200
    if form.is_submitted():
        if form.validate():
            identity.email.request_password(form.email.data, *_mail(), _path)
            forget()
            if destination and len(destination) <= LONGEST_NEXT:
                session[NEXT_FIELD] = destination
            return redirect(url_for("forgotten.sent"), 303)
        status = 422
    return render_template("forgotten.html", form=form, next=destination), status


@blueprint.get("/forgotten/sent")
def sent() -> str:
    """Say what happens now, to everybody alike."""
    return render_template("forgotten_sent.html")


@blueprint.get("/new-password/<link>")
def open_link(link: str) -> Response:
    """Take the link out of the address, which browsers keep and show."""
    session.pop(LINK_FIELD, None)
    if identity.email.whose_password(link) is not None:
        session[LINK_FIELD] = link
    return redirect(url_for("forgotten.choose"), 303)


@blueprint.route("/new-password", methods=["GET", "POST"])
def choose() -> Response | tuple[str, int]:
    """Ask for the new password. It signs nobody in: there may be a second factor."""
    link = session.get(LINK_FIELD, "")
    email = identity.email.whose_password(link)
    if email is None:
        return _too_late()
    form = LinkedPasswordForm()
    if form.is_submitted() and form.account.data != _digest(link):
        # The page was shown for another link, which another one has replaced since.
        return redirect(url_for("forgotten.choose"), 303)
    form.account.data = _digest(link)
    status = 200
    if form.is_submitted():
        if form.validate():
            try:
                if not identity.email.choose_password(link, form.new.data):
                    return _too_late()
            except InvalidValue:
                form.refuse()
            else:
                destination = session.get(NEXT_FIELD) or url_for("start.page")
                forget()
                flash(gettext("Your password is changed. Sign in with it."))
                return redirect(url_for("signing_in.sign_in", next=destination), 303)
        status = 422
    cancel = url_for("signing_in.sign_in")
    return render_template("password.html", form=form, name=email, cancel=cancel), status


def _too_late() -> tuple[str, int]:
    page = render_template(
        "error.html",
        title=gettext("This link does not work any more"),
        message=gettext("A link works once, for 30 minutes. Ask for another one."),
        link=url_for("forgotten.ask_address"),
        link_text=gettext("Send another link"),
    )
    return page, 410


def _digest(link: str) -> str:
    return hashlib.sha256(link.encode()).hexdigest()


def _path(link: str) -> str:
    return url_for("forgotten.open_link", link=link)


def _mail() -> tuple[str, str]:
    return gettext("A new password"), gettext(
        "Somebody, most likely you, asked for a new password for the account with this e-mail "
        "address. Choose it here within 30 minutes:\n\n%(link)s\n\n"
        "If it was not you, there is nothing to do: your password stays as it is.",
        link="{link}",
    )
