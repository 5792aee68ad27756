"""One more proof before a factor is changed: a code, or a passkey of the person signed in."""

from __future__ import annotations

from dataclasses import dataclass

from flask import render_template
from flask_babel import gettext, lazy_gettext
from flask_login import current_user
from flask_wtf import FlaskForm
from wtforms import HiddenField, StringField, SubmitField
from wtforms.validators import Length

from host_app.models import identity
from host_app.signing_in import CODE_FIELD

LONGEST_ANSWER = 16_384
"""Characters of what a browser says about a passkey; attestations with certificates are long."""


class PasskeyForm(FlaskForm):  # type: ignore[misc]
    """What the browser says, filled in by a script."""

    answer = HiddenField(validators=[Length(max=LONGEST_ANSWER)])


class ProofForm(PasskeyForm):
    """A code, or what the browser says."""

    code = StringField(lazy_gettext("Code"), [Length(max=40)], render_kw=CODE_FIELD)
    submit = SubmitField(lazy_gettext("Continue"))


@dataclass(frozen=True, slots=True)
class Proof:
    """What was sent. One of both is empty."""

    code: str
    answer: str


def ask_for_proof() -> Proof | ProofForm:
    """What was sent, or the form to be shown. Raises RecentSignInRequired."""
    identity.require_recent_sign_in(current_user)
    form = ProofForm()
    if form.validate_on_submit() and (form.code.data or form.answer.data):
        return Proof(form.code.data or "", form.answer.data or "")
    return refuse_proof() if form.is_submitted() else form


def refuse_proof() -> ProofForm:
    """The form once more, after a proof that was not right."""
    form = ProofForm()
    form.form_errors.append(gettext("This code or passkey is not right, or was used before."))
    form.code.data = form.answer.data = ""
    return form


def render_proof(form: ProofForm, title: str, text: str) -> tuple[str, int]:
    """The page that asks: what for, and by what the person has."""
    page = render_template(
        "proof.html",
        form=form,
        title=title,
        text=text,
        options=identity.passkeys.confirm_options(current_user),
    )
    return page, 422 if form.is_submitted() else 200
