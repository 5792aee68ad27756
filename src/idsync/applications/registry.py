"""The table of client applications and the few ways to read and change it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    MetaData,
    Row,
    String,
    Table,
    Text,
    bindparam,
    false,
    insert,
    select,
    update,
)

from idsync.applications.application import Application, check_registration, is_client_id
from idsync.audit.events import Actor, Audit
from idsync.crypto import identifiers
from idsync.database import DatabaseSession, Json, begin_write, write
from idsync.errors import InvalidValue, UnknownRecord

LONGEST_OVERLAP = 30 * 24 * 3600
"""Seconds that an old secret may go on working: longer, and it would not have been replaced."""

TOLD = (
    "accounts",
    "backchannel_logout_session_required",
    "backchannel_logout_uri",
    "first_party",
    "id_token_algorithm",
    "name",
    "post_logout_redirect_uris",
    "redirect_uris",
    "scopes",
    "service_tag",
)
"""Fields whose values an event may have: what an application may do. No digest of a secret."""


def define_application_table(metadata: MetaData) -> Table:
    """`idsync_application`: one row per client application."""
    return Table(
        "idsync_application",
        metadata,
        Column("client_id", String(64), primary_key=True),
        Column("name", String(200), nullable=False),
        Column("secret_digest", String(64)),
        Column("redirect_uris", Json, nullable=False),
        Column("post_logout_redirect_uris", Json, nullable=False),
        Column("scopes", Text, nullable=False),
        Column("first_party", Boolean, nullable=False),
        Column("accounts", Boolean, nullable=False),
        Column("service_tag", String(64)),
        Column("id_token_algorithm", String(8), nullable=False),
        Column("active", Boolean, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        Column("previous_secret_digest", String(64)),
        Column("previous_secret_until", BigInteger),
        Column("backchannel_logout_uri", Text),
        Column(
            "backchannel_logout_session_required", Boolean, nullable=False, server_default=false()
        ),
    )


@dataclass(frozen=True, slots=True)
class Registration:
    """A new application and its secret, which is shown once and stored nowhere."""

    application: Application
    client_secret: str | None = field(repr=False)


class Applications:
    """Client applications in the database. Each change is checked, noted and committed at once."""

    def __init__(
        self, session: DatabaseSession, table: Table, client_id_prefix: str, audit: Audit
    ) -> None:
        self._guard: Callable[[], object] | None = None
        self._session = session
        self._table = table
        self._prefix = client_id_prefix
        self._audit = audit
        self._by_id = select(table).where(table.c.client_id == bindparam("client_id"))

    def find(self, client_id: str) -> Application | None:
        """The application with this client_id, active or not."""
        if not is_client_id(client_id):
            return None
        row = self._session.connection().execute(self._by_id, {"client_id": client_id}).first()
        return None if row is None else application_from(row)

    def all(self) -> list[Application]:
        """Every application by name."""
        statement = select(self._table).order_by(self._table.c.name, self._table.c.client_id)
        return [application_from(row) for row in self._session.connection().execute(statement)]

    def register(
        self,
        *,
        actor: Actor,
        name: str,
        redirect_uris: tuple[str, ...],
        post_logout_redirect_uris: tuple[str, ...] = (),
        scopes: str = "openid profile email",
        public: bool = False,
        first_party: bool = False,
        accounts: bool = False,
        service_tag: str | None = None,
        id_token_algorithm: str = "RS256",
        backchannel_logout_uri: str | None = None,
        backchannel_logout_session_required: bool = False,
    ) -> Registration:
        """Add an application and commit. Raises InvalidValue naming the field."""
        secret = None if public else identifiers.new_client_secret()
        application = Application(
            client_id=identifiers.new_client_id(self._prefix),
            name=name.strip(),
            secret_digest=None if secret is None else identifiers.digest(secret),
            redirect_uris=redirect_uris,
            post_logout_redirect_uris=post_logout_redirect_uris,
            scopes=tuple(dict.fromkeys(scopes.split())),
            first_party=first_party,
            accounts=accounts,
            service_tag=service_tag or None,
            id_token_algorithm=id_token_algorithm,
            active=True,
            created_at=int(time.time()),
            backchannel_logout_uri=backchannel_logout_uri or None,
            backchannel_logout_session_required=backchannel_logout_session_required,
        )
        check_registration(application)

        def insert_it(connection: Connection) -> None:
            self._confirm()
            connection.execute(insert(self._table), _columns(application))
            self._audit.record(
                "application registered",
                actor,
                client_id=application.client_id,
                **_told(application, TOLD),
            )

        write(self._session, insert_it)
        return Registration(application, secret)

    def edit(
        self, client_id: str, *, actor: Actor, version: str | None = None, **changes: Any
    ) -> Application:
        """Change fields of an application and commit.

        version: of the application as it was when the changes were decided, where that matters.
        Raises UnknownRecord, or InvalidValue naming the field.
        """

        def change(found: Application) -> Application:
            if version is not None and found.version != version:
                raise InvalidValue("version", "somebody else changed this application meanwhile")
            changed = replace(found, **changes)
            check_registration(changed)
            return changed

        fields = sorted(changes)
        return self._change(client_id, change, "application changed", actor, fields, fields=fields)

    def switch(self, client_id: str, *, active: bool, actor: Actor) -> Application:
        """Switch an application on, or off: no sign-in, no tokens, no account API. Commits.

        Raises UnknownRecord.
        """
        kind = "application activated" if active else "application deactivated"
        return self._change(client_id, lambda found: replace(found, active=active), kind, actor)

    def rotate_secret(
        self, client_id: str, *, actor: Actor, overlap: int = 0, once: bool = False
    ) -> Registration:
        """Give a confidential application a new secret and commit.

        overlap: seconds for which the old secret goes on working beside the new one; with 0 it
        stops at once, and so does one that was still working from an earlier rotation. once:
        refuse another overlap while one lasts, because a button pressed twice would end the secret
        that is in use.
        Raises UnknownRecord, or InvalidValue.
        """
        if not 0 <= overlap <= LONGEST_OVERLAP:
            raise InvalidValue("overlap", "from 0 to %(longest)d seconds", longest=LONGEST_OVERLAP)
        secret = identifiers.new_client_secret()

        def rotate(found: Application) -> Application:
            if found.public:
                raise InvalidValue("client_id", "a public application has no secret")
            if once and overlap and found.previous_secret_works:
                raise InvalidValue(
                    "overlap", "the secret before this one still works; end it with no overlap"
                )
            return replace(
                found,
                secret_digest=identifiers.digest(secret),
                previous_secret_digest=found.secret_digest if overlap else None,
                previous_secret_until=int(time.time()) + overlap if overlap else None,
            )

        changed = self._change(client_id, rotate, "secret rotated", actor, overlap=overlap)
        return Registration(changed, secret)

    def _change(
        self,
        client_id: str,
        change: Callable[[Application], Application],
        kind: str,
        actor: Actor,
        told: Iterable[str] = (),
        **details: Any,
    ) -> Application:
        """Change an application as it is now: its row is locked, so that two changes of one both
        hold, and no two of them add up to something that neither would have been allowed.

        told: fields whose new values the event has.
        """
        statement = self._by_id.with_for_update()

        def work(connection: Connection) -> Application:
            begin_write(self._session, self._table)
            self._confirm()
            row = None
            if is_client_id(client_id):
                row = connection.execute(statement, {"client_id": client_id}).first()
            if row is None:
                raise UnknownRecord(f"No application has the client_id {client_id!r}.")
            changed = change(application_from(row))
            connection.execute(
                update(self._table)
                .where(self._table.c.client_id == client_id)
                .values(_columns(changed))
            )
            self._audit.record(kind, actor, client_id=client_id, **details, **_told(changed, told))
            return changed

        return write(self._session, work)

    def _confirm(self) -> None:
        if self._guard is not None:
            self._guard()


def guarded(applications: Applications, guard: Callable[[], object]) -> Applications:
    """The same applications, for somebody who may have lost the right to change them.

    guard: called in the transaction of each change, before it; refuses by raising.
    """
    same = copy(applications)
    same._guard = guard
    return same


def application_from(row: Row[Any]) -> Application:
    """The value in a row of `idsync_application`."""
    values = row._mapping
    return Application(
        **{
            **values,
            "redirect_uris": tuple(values["redirect_uris"]),
            "post_logout_redirect_uris": tuple(values["post_logout_redirect_uris"]),
            "scopes": tuple(values["scopes"].split()),
        }
    )


def _told(application: Application, fields: Iterable[str]) -> dict[str, Any]:
    """The values of those of these fields that may be told, as JSON has them."""
    values = {name: getattr(application, name) for name in fields if name in TOLD}
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in values.items()
    }


def _columns(application: Application) -> dict[str, Any]:
    return {
        **asdict(application),
        "redirect_uris": list(application.redirect_uris),
        "post_logout_redirect_uris": list(application.post_logout_redirect_uris),
        "scopes": " ".join(application.scopes),
    }
