"""Client applications as an administrator sees and changes them. No secret but a new one."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass, field

from idsync.applications.application import Application
from idsync.applications.registry import Applications, Registration
from idsync.audit.events import Actor

DAY = 86_400
"""Seconds."""


@dataclass(frozen=True, slots=True)
class RegisteredApplication:
    """An application as it is registered.

    old_secret_until: UTC; until then the secret before the last rotation works too. version:
    another one after every change that a form must not undo.
    """

    client_id: str
    name: str
    public: bool
    redirect_uris: tuple[str, ...]
    post_logout_redirect_uris: tuple[str, ...]
    scopes: tuple[str, ...]
    first_party: bool
    accounts: bool
    service_tag: str | None
    id_token_algorithm: str
    backchannel_logout_uri: str | None
    backchannel_logout_session_required: bool
    active: bool
    created_at: dt.datetime
    old_secret_until: dt.datetime | None
    version: str


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A secret that was just made: to be shown now, because it is stored nowhere.

    client_secret: None for a public application.
    """

    application: RegisteredApplication
    client_secret: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class ApplicationTerms:
    """What can be changed of a registration."""

    name: str
    redirect_uris: tuple[str, ...]
    post_logout_redirect_uris: tuple[str, ...]
    scopes: tuple[str, ...]
    first_party: bool
    accounts: bool
    service_tag: str | None
    id_token_algorithm: str
    backchannel_logout_uri: str | None = None
    backchannel_logout_session_required: bool = False


class Registrations:
    """The client applications, for one administrator. Every change is committed."""

    def __init__(self, applications: Applications, actor: Actor) -> None:
        self._applications = applications
        self._actor = actor

    def all(self) -> list[RegisteredApplication]:
        """Every application by name."""
        return [_shown(one) for one in self._applications.all()]

    def find(self, client_id: str) -> RegisteredApplication | None:
        """The application with this client_id."""
        found = self._applications.find(client_id)
        return None if found is None else _shown(found)

    def register(self, terms: ApplicationTerms, *, public: bool) -> NewSecret:
        """Add an application. Raises InvalidValue naming the field."""
        return _new_secret(
            self._applications.register(
                actor=self._actor,
                public=public,
                **{**asdict(terms), "scopes": " ".join(terms.scopes)},
            )
        )

    def edit(self, client_id: str, terms: ApplicationTerms, *, version: str) -> None:
        """Change what differs.

        version: of the application as the administrator saw it; what somebody else changed
        meanwhile, such as a right taken away, is not undone. Raises UnknownRecord, or InvalidValue
        naming the field.
        """
        found = self._applications.find(client_id)
        wanted = asdict(terms)
        if found is not None and {"openid", *found.scopes} == {"openid", *terms.scopes}:
            wanted["scopes"] = found.scopes  # in the order in which they were registered
        changes = {
            name: value
            for name, value in wanted.items()
            if found is None or getattr(found, name) != value
        }
        if changes:
            self._applications.edit(client_id, actor=self._actor, version=version, **changes)

    def rotate_secret(self, client_id: str, *, overlap_days: int) -> NewSecret:
        """Make a new secret; the old one works on for so many days.

        Raises UnknownRecord, or InvalidValue; also where an old one is working on already.
        """
        return _new_secret(
            self._applications.rotate_secret(
                client_id, actor=self._actor, overlap=overlap_days * DAY, once=True
            )
        )

    def activate(self, client_id: str) -> None:
        """Let an application sign people in again. Raises UnknownRecord."""
        self._applications.switch(client_id, active=True, actor=self._actor)

    def deactivate(self, client_id: str) -> None:
        """No sign-in, no tokens, no account API. Raises UnknownRecord."""
        self._applications.switch(client_id, active=False, actor=self._actor)


def _new_secret(registration: Registration) -> NewSecret:
    return NewSecret(_shown(registration.application), registration.client_secret)


def _shown(one: Application) -> RegisteredApplication:
    until = one.previous_secret_until if one.previous_secret_works else None
    return RegisteredApplication(
        client_id=one.client_id,
        name=one.name,
        public=one.public,
        redirect_uris=one.redirect_uris,
        post_logout_redirect_uris=one.post_logout_redirect_uris,
        scopes=one.scopes,
        first_party=one.first_party,
        accounts=one.accounts,
        service_tag=one.service_tag,
        id_token_algorithm=one.id_token_algorithm,
        backchannel_logout_uri=one.backchannel_logout_uri,
        backchannel_logout_session_required=one.backchannel_logout_session_required,
        active=one.active,
        created_at=dt.datetime.fromtimestamp(one.created_at, dt.UTC),
        old_secret_until=None if until is None else dt.datetime.fromtimestamp(until, dt.UTC),
        version=one.version,
    )
