"""One person: what there is to know, whether services know it yet, and what can be done."""

from __future__ import annotations

from collections.abc import Callable

from flask import flash, redirect, render_template, request, url_for
from flask_babel import gettext
from werkzeug.exceptions import abort
from werkzeug.wrappers import Response

from host_app.administration.entrance import blueprint, console
from host_app.administration.person_forms import EditPersonForm, EraseForm, SureForm, TagForm
from host_app.administration.shown import put_at_field, refusal
from idsync import ErasedPerson, InvalidValue, Person

# "@", because an account's id may be "new", or a dot.
ONE = "/people/@<person_id>"


@blueprint.get(ONE)
def person(person_id: str) -> str:
    """A person, or what is left of one who was erased."""
    found = console().people.find(person_id)
    if found is None:
        abort(404)
    return render_template(
        "administration/person.html",
        person=found,
        erased=isinstance(found, ErasedPerson),
        arrivals=console().people.arrivals(person_id),
        form=TagForm(),
    )


@blueprint.route(f"{ONE}/edit", methods=["GET", "POST"])
def edit_person(person_id: str) -> Response | tuple[str, int]:
    """Change name, address, phone, password, and whether they may use the console."""
    found = _living(person_id)
    form = EditPersonForm(obj=found)
    status = 200
    if form.is_submitted():
        if form.validate():
            try:
                console().people.change(
                    person_id,
                    version=form.version.data or "",
                    name=form.name.data,
                    email=form.email.data or None,
                    phone=form.phone.data or None,
                    **({"password": form.password.data} if form.password.data else {}),
                    administrator=form.administrator.data,
                )
            except InvalidValue as error:
                if error.field == "version":
                    flash(refusal(error), "danger")
                    return redirect(url_for(".edit_person", person_id=person_id), 303)
                put_at_field(form, error)
            else:
                flash(gettext("Saved."))
                return _back(person_id)
        status = 422
    return render_template("administration/edit_person.html", form=form, person=found), status


@blueprint.post(f"{ONE}/tags/add")
def add_tag(person_id: str) -> Response:
    """Give the person a tag."""
    form = TagForm()
    if not form.validate():
        flash(" ".join(str(one) for one in form.tag.errors), "danger")
        return _back(person_id)
    return _done(person_id, lambda: console().people.add_tag(person_id, form.tag.data.strip()))


@blueprint.post(f"{ONE}/tags/remove")
def remove_tag(person_id: str) -> Response:
    """Take a tag away: with a service's tag, the person loses that service."""
    tag = request.form.get("tag", "")
    return _done(person_id, lambda: console().people.remove_tag(person_id, tag))


@blueprint.post(f"{ONE}/disable")
def disable(person_id: str) -> Response:
    """Everywhere, at once."""
    return _done(person_id, lambda: console().people.disable(person_id))


@blueprint.post(f"{ONE}/enable")
def enable(person_id: str) -> Response:
    """Whoever disabled them."""
    return _done(person_id, lambda: console().people.enable(person_id))


@blueprint.post(f"{ONE}/sign-out")
def sign_person_out(person_id: str) -> Response:
    """Out of every browser and every application."""
    return _done(
        person_id,
        lambda: console().people.sign_out(person_id),
        gettext("Every session and every application of this person is signed out."),
    )


@blueprint.route(f"{ONE}/reset-factors", methods=["GET", "POST"])
def reset_factors(person_id: str) -> Response | tuple[str, int]:
    """Ask once more, then take all second factors away."""
    found, form = _living(person_id), SureForm()
    if form.validate_on_submit():
        return _done(
            person_id,
            lambda: console().people.reset_factors(person_id),
            gettext("This person has no second factor any more."),
        )
    form.submit.label.text = gettext("Take the second factors away")
    return render_template("administration/reset_factors.html", form=form, person=found), 200


@blueprint.route(f"{ONE}/erase", methods=["GET", "POST"])
def erase(person_id: str) -> Response | tuple[str, int]:
    """Erase for good, once the id was typed."""
    found, form = _living(person_id), EraseForm()
    status = 200
    if form.is_submitted():
        if form.typed.data == person_id and form.validate():
            try:
                console().people.erase(person_id)
            except InvalidValue as error:
                form.form_errors.append(refusal(error))
            else:
                flash(gettext("The account is erased."))
                return _back(person_id)
        elif form.typed.data != person_id:
            form.typed.errors = [gettext("This is not the id of this person.")]
        status = 422
    return render_template("administration/erase.html", form=form, person=found), status


def _living(person_id: str) -> Person:
    found = console().people.find(person_id)
    if not isinstance(found, Person):
        abort(404)
    return found


def _done(person_id: str, change: Callable[[], None], said: str | None = None) -> Response:
    """Make a change, say so or why not, and go back to the person."""
    try:
        change()
    except InvalidValue as error:
        flash(refusal(error), "danger")
    else:
        flash(said or gettext("Saved."))
    return _back(person_id)


def _back(person_id: str) -> Response:
    return redirect(url_for(".person", person_id=person_id), 303)
