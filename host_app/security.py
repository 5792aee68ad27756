"""How a person signs in: phone number, authenticator app, passkeys, recovery codes."""

from __future__ import annotations

import datetime as dt
from urllib.parse import quote

import segno
from flask import Blueprint, flash, redirect, render_template, url_for
from flask_babel import format_date, gettext
from flask_login import current_user, login_required
from werkzeug.wrappers import Response

from host_app.headers import with_own_scripts
from host_app.models import identity
from host_app.proof import Proof, ask_for_proof, refuse_proof, render_proof
from host_app.signing_in import CodeForm

blueprint = Blueprint("security", __name__, url_prefix="/security")


@blueprint.get("")
@login_required  # type: ignore[untyped-decorator]
def page() -> str:
    """What there is, and what can be done about it."""
    return render_template(
        "security.html",
        factors=identity.factors.of(current_user),
        phone_offered=identity.phone.offered,
        phone=identity.phone.of(current_user),
        passkeys=identity.passkeys.of(current_user),
        day=_day,
    )


@blueprint.post("/app")
@login_required  # type: ignore[untyped-decorator]
def begin_app() -> Response:
    """Make a secret for an authenticator app."""
    identity.factors.begin_app(current_user)
    return redirect(url_for("security.confirm_app"), 303)


@blueprint.route("/app/confirm", methods=["GET", "POST"])
@login_required  # type: ignore[untyped-decorator]
def confirm_app() -> Response | tuple[str, int]:
    """Show the secret as a QR code and ask for a first code."""
    new = identity.factors.new_app(current_user)
    if new is None:
        return redirect(url_for("security.page"))
    form = CodeForm()
    status = 200
    if form.is_submitted():
        if form.validate():
            codes = identity.factors.confirm_app(current_user, form.code.data)
            if codes:
                return show_recovery_codes(codes)
            if codes is not None:
                flash(gettext("Your authenticator app is set up."))
                return redirect(url_for("security.page"), 303)
            form.refuse(_wrong_code())
        status = 422
    picture = segno.make(new.address, error="m").svg_data_uri(scale=5, border=4, light="#fff")
    secret = " ".join(new.secret[at : at + 4] for at in range(0, len(new.secret), 4))
    return render_template("new_app.html", form=form, picture=picture, secret=secret), status


@blueprint.route("/app/remove", methods=["GET", "POST"])
@login_required  # type: ignore[untyped-decorator]
@with_own_scripts
def remove_app() -> Response | tuple[str, int]:
    """Forget the authenticator app, after one more proof."""
    if not identity.factors.of(current_user).app:
        return redirect(url_for("security.page"))
    proof = ask_for_proof()
    if isinstance(proof, Proof):
        if identity.factors.remove_app(current_user, code=proof.code, answer=proof.answer):
            flash(gettext("The authenticator app is removed."))
            return redirect(url_for("security.page"), 303)
        proof = refuse_proof()
    return render_proof(
        proof,
        gettext("Remove the authenticator app"),
        gettext("If you have no passkey, your password alone is enough to sign in after that."),
    )


@blueprint.route("/recovery-codes", methods=["GET", "POST"])
@login_required  # type: ignore[untyped-decorator]
@with_own_scripts
def recovery_codes() -> Response | str | tuple[str, int]:
    """Make new recovery codes, after one more proof."""
    if not identity.factors.of(current_user):
        return redirect(url_for("security.page"))
    proof = ask_for_proof()
    if isinstance(proof, Proof):
        codes = identity.factors.renew_recovery_codes(
            current_user, code=proof.code, answer=proof.answer
        )
        if codes is not None:
            return show_recovery_codes(codes)
        proof = refuse_proof()
    return render_proof(
        proof,
        gettext("New recovery codes"),
        gettext("You get ten new codes, and the old ones stop working."),
    )


@with_own_scripts
def show_recovery_codes(codes: list[str]) -> str:
    """The only page that ever shows them."""
    text = "\n".join((gettext("Recovery codes, each works once"), "", *codes, ""))
    download = "data:text/plain;charset=utf-8," + quote(text)
    return render_template("recovery_codes.html", codes=codes, download=download)


def _day(seconds: int) -> str:
    return str(format_date(dt.datetime.fromtimestamp(seconds, dt.UTC), "long"))


def _wrong_code() -> str:
    return str(gettext("This code is wrong, or was used before."))
