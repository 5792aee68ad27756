"""Finding people, and making accounts."""

from __future__ import annotations

from flask import flash, redirect, render_template, request, url_for
from flask_babel import gettext
from werkzeug.exceptions import abort
from werkzeug.wrappers import Response

from host_app.administration.entrance import blueprint, console
from host_app.administration.person_forms import NewPersonForm
from host_app.administration.shown import put_at_field
from idsync import InvalidValue


@blueprint.get("/people")
def people() -> str:
    """Those whose name, e-mail address or id begins with what was typed, a page at a time."""
    typed, tag = request.args.get("q", "").strip(), request.args.get("tag", "").strip()
    after = request.args.get("after") or None
    try:
        page = console().people.search(typed, tag=tag or None, after=after)
    except InvalidValue:
        abort(400)
    return render_template(
        "administration/people.html", page=page, typed=typed, tag=tag, first=after is None
    )


@blueprint.route("/people/new", methods=["GET", "POST"])
def new_person() -> Response | tuple[str, int]:
    """Make an account."""
    form = NewPersonForm()
    status = 200
    if form.is_submitted():
        if form.validate():
            try:
                person_id = console().people.add(
                    name=form.name.data,
                    email=form.email.data or None,
                    person_id=form.id.data or None,
                    phone=form.phone.data or None,
                    tags=form.tag_list(),
                    password=form.password.data or None,
                    administrator=form.administrator.data,
                )
            except InvalidValue as error:
                put_at_field(form, error)
            else:
                flash(gettext("The account is made."))
                return redirect(url_for(".person", person_id=person_id), 303)
        status = 422
    return render_template("administration/new_person.html", form=form), status
