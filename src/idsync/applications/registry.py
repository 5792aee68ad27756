"""The table of client applications and the few ways to read and change it."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    MetaData,
    Row,
    String,
    Table,
    Text,
    bindparam,
    insert,
    select,
    update,
)

from idsync.applications.application import Application, check_registration, is_client_id
from idsync.crypto import secrets
from idsync.database import DatabaseSession, Json, write
from idsync.errors import InvalidValue, UnknownRecord


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
    )


@dataclass(frozen=True, slots=True)
class Registration:
    """A new application and its secret, which is shown once and stored nowhere."""

    application: Application
    client_secret: str | None = field(repr=False)


class Applications:
    """Client applications in the database."""

    def __init__(self, session: DatabaseSession, table: Table, client_id_prefix: str) -> None:
        self._session = session
        self._table = table
        self._prefix = client_id_prefix
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
        name: str,
        redirect_uris: tuple[str, ...],
        post_logout_redirect_uris: tuple[str, ...] = (),
        scopes: str = "openid profile email",
        public: bool = False,
        first_party: bool = False,
        accounts: bool = False,
        service_tag: str | None = None,
        id_token_algorithm: str = "RS256",
    ) -> Registration:
        """Add an application and commit. Raises InvalidValue naming the field."""
        secret = None if public else secrets.new_client_secret()
        application = Application(
            client_id=secrets.new_client_id(self._prefix),
            name=name.strip(),
            secret_digest=None if secret is None else secrets.digest(secret),
            redirect_uris=redirect_uris,
            post_logout_redirect_uris=post_logout_redirect_uris,
            scopes=tuple(dict.fromkeys(scopes.split())),
            first_party=first_party,
            accounts=accounts,
            service_tag=service_tag or None,
            id_token_algorithm=id_token_algorithm,
            active=True,
            created_at=int(time.time()),
        )
        check_registration(application)
        write(self._session, lambda c: c.execute(insert(self._table), _columns(application)))
        return Registration(application, secret)

    def edit(self, client_id: str, **changes: Any) -> Application:
        """Change fields of an application and commit.

        Raises UnknownRecord, or InvalidValue naming the field.
        """
        application = replace(self._existing(client_id), **changes)
        check_registration(application)
        self._save(application, *changes)
        return application

    def rotate_secret(self, client_id: str) -> Registration:
        """Give a confidential application a new secret; the old one stops working at once."""
        found = self._existing(client_id)
        if found.public:
            raise InvalidValue("client_id", "a public application has no secret")
        secret = secrets.new_client_secret()
        application = replace(found, secret_digest=secrets.digest(secret))
        self._save(application, "secret_digest")
        return Registration(application, secret)

    def _existing(self, client_id: str) -> Application:
        found = self.find(client_id)
        if found is None:
            raise UnknownRecord(f"No application has the client_id {client_id!r}.")
        return found

    def _save(self, application: Application, *fields: str) -> None:
        """Write these fields only: another administrator may be changing others."""
        columns = _columns(application)
        statement = (
            update(self._table)
            .where(self._table.c.client_id == application.client_id)
            .values({field: columns[field] for field in fields})
        )
        write(self._session, lambda connection: connection.execute(statement))


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


def _columns(application: Application) -> dict[str, Any]:
    return {
        **asdict(application),
        "redirect_uris": list(application.redirect_uris),
        "post_logout_redirect_uris": list(application.post_logout_redirect_uris),
        "scopes": " ".join(application.scopes),
    }
