"""Signing in with a passkey, and a person's own passkeys. The browser's part is in `passkey.js`."""

from __future__ import annotations

from flask import Blueprint, abort, flash, redirect, render_template, url_for
from flask_babel import gettext, lazy_gettext
from flask_login import current_user, login_required
from werkzeug.wrappers import Response
from wtforms import StringField, SubmitField
from wtforms.validators import InputRequired, Length

from host_app.headers import with_own_scripts
from host_app.models import identity
from host_app.proof import PasskeyForm, Proof, ask_for_proof, refuse_proof, render_proof
from host_app.security import show_recovery_codes
from host_app.signing_in import next_address
from idsync import InvalidValue

blueprint = Blueprint("passkeys", __name__)


class NewPasskeyForm(PasskeyForm):
    """A passkey and what its owner calls it."""

    label = StringField(
        lazy_gettext("Name"),
        [InputRequired(lazy_gettext("Please enter a name for it.")), Length(max=60)],
        render_kw={"autocomplete": "off"},
    )
    submit = SubmitField(lazy_gettext("Make the passkey"))


@blueprint.post("/sign-in/passkey")
def sign_in() -> Response:
    """Sign in whose passkey it is."""
    destination, form = next_address(), PasskeyForm()
    if form.validate() and identity.passkeys.sign_in(form.answer.data or ""):
        return redirect(destination or url_for("start.page"), 303)
    flash(gettext("This passkey could not sign you in. Try again, or use your password."))
    return redirect(url_for("signing_in.sign_in", next=destination or url_for("start.page")), 303)


@blueprint.post("/sign-in/second-factor/passkey")
def second_factor() -> Response:
    """The second step, with a passkey."""
    destination, form = next_address(), PasskeyForm()
    if form.validate() and identity.passkeys.complete(form.answer.data or ""):
        return redirect(destination or url_for("start.page"), 303)
    flash(gettext("This passkey was not accepted. Try again, or enter a code."))
    return redirect(url_for("signing_in.second_factor", next=destination), 303)


@blueprint.route("/security/passkeys/new", methods=["GET", "POST"])
@login_required  # type: ignore[untyped-decorator]
@with_own_scripts
def add() -> Response | str | tuple[str, int]:
    """Make a passkey."""
    identity.require_recent_sign_in(current_user)
    form = NewPasskeyForm()
    status = 200
    if form.is_submitted():
        if form.validate():
            try:
                codes = identity.passkeys.add(current_user, form.answer.data or "", form.label.data)
            except InvalidValue as refused:
                form.form_errors.append(refused.message)
            else:
                if codes:
                    return show_recovery_codes(codes)
                if codes is not None:
                    flash(gettext("Your passkey is kept."))
                    return redirect(url_for("security.page"), 303)
                form.form_errors.append(gettext("The passkey could not be made. Try again."))
        status = 422
    options = identity.passkeys.creation_options(current_user)
    return render_template("new_passkey.html", form=form, options=options), status


@blueprint.route("/security/passkeys/<passkey_id>/remove", methods=["GET", "POST"])
@login_required  # type: ignore[untyped-decorator]
@with_own_scripts
def remove(passkey_id: str) -> Response | tuple[str, int]:
    """Forget a passkey, after one more proof."""
    named = {one.id: one.label for one in identity.passkeys.of(current_user)}
    if passkey_id not in named:
        abort(404)
    proof = ask_for_proof()
    if isinstance(proof, Proof):
        if identity.passkeys.remove(current_user, passkey_id, code=proof.code, answer=proof.answer):
            flash(gettext("The passkey %(name)s is removed.", name=named[passkey_id]))
            return redirect(url_for("security.page"), 303)
        proof = refuse_proof()
    return render_proof(
        proof,
        gettext("Remove a passkey"),
        gettext("%(name)s will not sign you in any more.", name=named[passkey_id]),
    )
