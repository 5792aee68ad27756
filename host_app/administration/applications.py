"""The client applications: who may sign people in, and with what rights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import flash, redirect, render_template, request, url_for
from flask_babel import gettext
from werkzeug.exceptions import abort
from werkzeug.wrappers import Response

from host_app.administration.application_forms import (
    EditApplicationForm,
    NewApplicationForm,
    RotateForm,
)
from host_app.administration.entrance import blueprint, console
from host_app.administration.shown import put_at_field, refusal
from idsync import InvalidValue

if TYPE_CHECKING:
    from idsync import RegisteredApplication

ONE = "/applications/<client_id>"


@blueprint.get("/applications")
def applications() -> str:
    """All of them, by name."""
    services = {one.client_id: one for one in console().services.all()}
    return render_template(
        "administration/applications.html",
        applications=console().applications.all(),
        services=services,
    )


@blueprint.route("/applications/new", methods=["GET", "POST"])
def new_application() -> str | tuple[str, int]:
    """Register one. The answer shows the secret, because it is kept nowhere."""
    form = NewApplicationForm(data={"scope": ["profile", "email"]})
    status = 200
    if form.is_submitted():
        if form.validate():
            try:
                made = console().applications.register(
                    form.terms(), public=form.kind.data == "public"
                )
            except InvalidValue as error:
                put_at_field(form, error)
            else:
                return render_template("administration/secret.html", made=made, rotated=False)
        status = 422
    return render_template("administration/new_application.html", form=form), status


@blueprint.get(ONE)
def application(client_id: str) -> str:
    """One application, and how far its copy has come where it keeps one."""
    return render_template(
        "administration/application.html",
        application=_existing(client_id),
        service=console().services.find(client_id),
    )


@blueprint.route(f"{ONE}/edit", methods=["GET", "POST"])
def edit_application(client_id: str) -> Response | tuple[str, int]:
    """Change a registration."""
    found = _existing(client_id)
    form = EditApplicationForm(
        data={
            "version": found.version,
            "name": found.name,
            "redirect_uri": "\n".join(found.redirect_uris),
            "post_logout_redirect_uri": "\n".join(found.post_logout_redirect_uris),
            "scope": list(found.scopes),
            "first_party": found.first_party,
            "service_tag": found.service_tag,
            "accounts": found.accounts,
            "id_token_alg": found.id_token_algorithm,
            "backchannel_logout_uri": found.backchannel_logout_uri,
            "backchannel_logout_session_required": found.backchannel_logout_session_required,
        }
    )
    status = 200
    if form.is_submitted():
        if form.validate():
            try:
                console().applications.edit(
                    client_id, form.terms(), version=form.version.data or ""
                )
            except InvalidValue as error:
                if error.field == "version":
                    flash(refusal(error), "danger")
                    return redirect(request.url, 303)
                put_at_field(form, error)
            else:
                flash(gettext("Saved."))
                return _back(client_id)
        status = 422
    page = render_template("administration/edit_application.html", form=form, application=found)
    return page, status


@blueprint.route(f"{ONE}/secret", methods=["GET", "POST"])
def rotate_secret(client_id: str) -> Response | str | tuple[str, int]:
    """Make a new secret. The answer shows it, because it is kept nowhere."""
    found, form = _existing(client_id), RotateForm()
    if found.public:
        return _back(client_id)
    status = 200
    if form.is_submitted():
        if form.validate():
            try:
                made = console().applications.rotate_secret(
                    client_id, overlap_days=int(form.overlap.data)
                )
            except InvalidValue as error:
                put_at_field(form, error)
            else:
                return render_template("administration/secret.html", made=made, rotated=True)
        status = 422
    page = render_template("administration/rotate.html", form=form, application=found)
    return page, status


@blueprint.post(f"{ONE}/activate")
def activate(client_id: str) -> Response:
    """Let it sign people in again."""
    console().applications.activate(client_id)
    flash(gettext("The application is switched on."))
    return _back(client_id)


@blueprint.post(f"{ONE}/deactivate")
def deactivate(client_id: str) -> Response:
    """No sign-in, no tokens, no account API."""
    console().applications.deactivate(client_id)
    flash(gettext("The application is switched off."))
    return _back(client_id)


def _existing(client_id: str) -> RegisteredApplication:
    found = console().applications.find(client_id)
    if found is None:
        abort(404)
    return found


def _back(client_id: str) -> Response:
    return redirect(url_for(".application", client_id=client_id), 303)
