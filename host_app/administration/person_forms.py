"""The forms about people. What a value may be is decided by idsync."""

from __future__ import annotations

from flask_babel import lazy_gettext
from flask_wtf import FlaskForm
from wtforms import BooleanField, HiddenField, PasswordField, StringField, SubmitField
from wtforms.validators import InputRequired, Length, Optional

from host_app.signing_in import LONGEST_PASSWORD
from idsync import SHORTEST_PASSWORD

PLAIN = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
"""What is typed is somebody else's: the browser neither fills it in nor corrects it."""

LONGEST_LINE = 1000
"""Characters; what is really too long is refused by idsync, with the reason."""


class PersonForm(FlaskForm):  # type: ignore[misc]
    """What can be said of anybody."""

    name = StringField(
        lazy_gettext("Full name"),
        [InputRequired(lazy_gettext("Please enter a name.")), Length(max=LONGEST_LINE)],
        render_kw={**PLAIN, "autocapitalize": "words"},
    )
    email = StringField(
        lazy_gettext("E-mail address"),
        [Length(max=LONGEST_LINE)],
        render_kw={**PLAIN, "inputmode": "email"},
    )
    phone = StringField(
        lazy_gettext("Phone number"),
        [Length(max=LONGEST_LINE)],
        description=lazy_gettext("With the country code, such as +4930123456."),
        render_kw={**PLAIN, "inputmode": "tel"},
    )
    password = PasswordField(
        lazy_gettext("Password"),
        [
            Optional(),
            Length(
                SHORTEST_PASSWORD,
                LONGEST_PASSWORD,
                lazy_gettext(
                    "A password needs at least %(number)d characters; a few words are best.",
                    number=SHORTEST_PASSWORD,
                ),
            ),
        ],
        render_kw={"autocomplete": "new-password"},
    )
    administrator = BooleanField(
        lazy_gettext("Administrator"),
        description=lazy_gettext("May use this console."),
    )


class NewPersonForm(PersonForm):
    """A new account."""

    id = StringField(
        lazy_gettext("Id"),
        [Length(max=LONGEST_LINE)],
        description=lazy_gettext("To keep one from elsewhere; made where it is left empty."),
        render_kw=PLAIN,
    )
    tags = StringField(
        lazy_gettext("Tags"),
        [Length(max=LONGEST_LINE)],
        description=lazy_gettext("Separated by commas."),
        render_kw=PLAIN,
    )
    submit = SubmitField(lazy_gettext("Make the account"))

    def tag_list(self) -> list[str]:
        """The tags, one by one."""
        return [one.strip() for one in self.tags.data.split(",") if one.strip()]


class EditPersonForm(PersonForm):
    """A change; version: of the person as this form was filled in."""

    version = HiddenField()
    submit = SubmitField(lazy_gettext("Save"))


class TagForm(FlaskForm):  # type: ignore[misc]
    """One tag to add."""

    tag = StringField(
        lazy_gettext("Another tag"),
        [InputRequired(lazy_gettext("Please enter a tag.")), Length(max=LONGEST_LINE)],
        render_kw=PLAIN,
    )


class EraseForm(FlaskForm):  # type: ignore[misc]
    """The id of the person, typed to make sure."""

    typed = StringField(lazy_gettext("Id of the person"), render_kw=PLAIN)
    submit = SubmitField(
        lazy_gettext("Erase for good"), render_kw={"class": "btn btn-danger w-100 mt-2"}
    )


class SureForm(FlaskForm):  # type: ignore[misc]
    """Nothing but a button."""

    submit = SubmitField()
