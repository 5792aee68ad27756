"""The forms about applications. What a registration may be is decided by idsync."""

from __future__ import annotations

from flask_babel import lazy_gettext
from flask_wtf import FlaskForm
from wtforms import (
    BooleanField,
    HiddenField,
    RadioField,
    SelectField,
    SelectMultipleField,
    StringField,
    SubmitField,
    TextAreaField,
)
from wtforms.fields.choices import SelectChoice
from wtforms.validators import InputRequired, Length
from wtforms.widgets import CheckboxInput, ListWidget

from host_app.administration.person_forms import LONGEST_LINE, PLAIN
from idsync import ApplicationTerms

LONGEST_TEXT = 50_000
"""Characters of all addresses together."""


class ApplicationForm(FlaskForm):  # type: ignore[misc]
    """A registration. The fields have the names by which idsync refuses their values."""

    name = StringField(
        lazy_gettext("Name"),
        [InputRequired(lazy_gettext("Please enter a name.")), Length(max=LONGEST_LINE)],
        description=lazy_gettext("People see it when they are asked for consent."),
        render_kw=PLAIN,
    )
    redirect_uri = TextAreaField(
        lazy_gettext("Return addresses"),
        [Length(max=LONGEST_TEXT)],
        description=lazy_gettext("One a line, exactly as the application sends them."),
        render_kw={**PLAIN, "rows": 3},
    )
    post_logout_redirect_uri = TextAreaField(
        lazy_gettext("Addresses after signing out"),
        [Length(max=LONGEST_TEXT)],
        description=lazy_gettext("One a line; none where people stay here."),
        render_kw={**PLAIN, "rows": 2},
    )
    backchannel_logout_uri = StringField(
        lazy_gettext("Address to be told of sign-outs"),
        [Length(max=LONGEST_LINE)],
        description=lazy_gettext("For back-channel logout; empty for none."),
        render_kw=PLAIN,
    )
    backchannel_logout_session_required = BooleanField(
        lazy_gettext("Name each session"),
        description=lazy_gettext("Otherwise it is told once for all sessions of a person."),
    )
    scope = SelectMultipleField(
        lazy_gettext("Rights"),
        choices=[
            SelectChoice("profile", lazy_gettext("Name and roles")),
            SelectChoice("email", lazy_gettext("E-mail address")),
            SelectChoice("offline_access", lazy_gettext("Stay signed in (refresh tokens)")),
        ],
        widget=ListWidget(prefix_label=False),
        option_widget=CheckboxInput(),
    )
    first_party = BooleanField(
        lazy_gettext("First-party"),
        description=lazy_gettext("People are not asked for consent."),
    )
    service_tag = StringField(
        lazy_gettext("Service tag"),
        [Length(max=LONGEST_LINE)],
        description=lazy_gettext("Only people with this tag may use it; empty for everybody."),
        render_kw=PLAIN,
    )
    accounts = BooleanField(
        lazy_gettext("Account API"),
        description=lazy_gettext(
            "Reads every account with its password hash, and changes accounts. For your own "
            "services only."
        ),
    )
    id_token_alg = SelectField(lazy_gettext("Signature of id_tokens"), choices=["RS256", "ES256"])
    submit = SubmitField(lazy_gettext("Save"))

    def terms(self) -> ApplicationTerms:
        """What the form says."""
        return ApplicationTerms(
            name=self.name.data.strip(),
            redirect_uris=_lines(self.redirect_uri.data),
            post_logout_redirect_uris=_lines(self.post_logout_redirect_uri.data),
            scopes=("openid", *self.scope.data),
            first_party=self.first_party.data,
            accounts=self.accounts.data,
            service_tag=self.service_tag.data.strip() or None,
            id_token_algorithm=self.id_token_alg.data,
            backchannel_logout_uri=self.backchannel_logout_uri.data.strip() or None,
            backchannel_logout_session_required=self.backchannel_logout_session_required.data,
        )


class EditApplicationForm(ApplicationForm):
    """A change; version: of the application as this form was filled in."""

    version = HiddenField()


class NewApplicationForm(ApplicationForm):
    """A new registration."""

    kind = RadioField(
        lazy_gettext("Where it runs"),
        choices=[
            SelectChoice("confidential", lazy_gettext("On a server, which keeps a secret")),
            SelectChoice(
                "public", lazy_gettext("In the browser, on a phone or a desktop: without a secret")
            ),
        ],
        default="confidential",
    )
    submit = SubmitField(lazy_gettext("Register"))


class RotateForm(FlaskForm):  # type: ignore[misc]
    """How long the old secret works on."""

    overlap = RadioField(
        lazy_gettext("The old secret"),
        choices=[
            SelectChoice("0", lazy_gettext("stops working at once: it has leaked")),
            SelectChoice("1", lazy_gettext("works for one more day")),
            SelectChoice("7", lazy_gettext("works for seven more days")),
            SelectChoice("30", lazy_gettext("works for 30 more days")),
        ],
        default="1",
    )
    submit = SubmitField(lazy_gettext("Make a new secret"))


def _lines(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
