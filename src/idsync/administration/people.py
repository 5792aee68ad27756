"""People as an administrator sees and changes them.

Every change is one transaction with the administrator as the actor, and is committed here; see
`transactions.py`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar

from sqlalchemy import Table, select

from idsync.accounts.change import UNSET, Change, Unset
from idsync.accounts.directory import Directory
from idsync.accounts.record import AccountModels, account_columns
from idsync.accounts.rules import is_subject, roles_of
from idsync.administration.person import ErasedPerson, PeoplePage, Person, listed, version_of
from idsync.administration.services import Arrival, Services
from idsync.administration.transactions import Transactions
from idsync.audit.events import Actor
from idsync.database import DatabaseSession
from idsync.errors import InvalidValue, UnknownRecord
from idsync.signin.factors import Factors

T = TypeVar("T")

PAGE = 50
"""People on a page of a list."""


class PeoplesFactors(Protocol):
    """Second factors, by the host's key and by subject."""

    def of_key(self, account_key: Any) -> Factors:
        """What an account has."""

    def reset(self, subject: str, *, actor: Actor) -> None:
        """Take all of them away; the caller commits."""


class People:
    """The people of the directory, for one administrator."""

    def __init__(
        self,
        session: DatabaseSession,
        models: AccountModels,
        erased: Table,
        directory: Directory,
        factors: PeoplesFactors,
        services: Services,
        role_map: Mapping[str, str],
        actor: Actor,
        transactions: Transactions,
    ) -> None:
        self._session = session
        self._models = models
        self._erased = erased
        self._directory = directory
        self._factors = factors
        self._services = services
        self._role_map = role_map
        self._actor = actor
        self._transactions = transactions

    # --- reading -------------------------------------------------------------------------------

    def search(
        self, prefix: str = "", *, tag: str | None = None, after: str | None = None
    ) -> PeoplePage:
        """People whose name, e-mail address or id begins with `prefix`; `PAGE` of them.

        Raises InvalidValue for an `after` that no page ended with.
        """
        found = self._directory.search(prefix, tag=tag, after=after, limit=PAGE)
        return PeoplePage(tuple(listed(one) for one in found.accounts), found.after)

    def find(self, person_id: str) -> Person | ErasedPerson | None:
        """The person with this id, or what is left of them."""
        row = self._row(person_id)
        if row is None:
            erased = self._erased_row(person_id)
            if erased is None:
                return None
            return ErasedPerson(person_id, erased.erased_at.replace(tzinfo=dt.UTC))
        return Person(
            id=row["subject"],
            name=row["account_name"] or "",
            email=row["account_email"] or None,
            email_verified=row["email_verified"],
            phone=row["phone"],
            tags=tuple(row["tags"]),
            roles=tuple(roles_of(row["tags"], self._role_map)),
            disabled_by=row["disabled_by"],
            administrator=row["administrator"],
            has_password=row["password"] is not None or row["legacy_password"],
            factors=self._factors.of_key(row["user_key"]),
            changed_at=row["updated_at"].replace(tzinfo=dt.UTC),
            version=version_of(row["revision"], row["phone"]),
        )

    def id_by_email(self, email: str) -> str | None:
        """The id of the person with this e-mail address, compared without case."""
        if not email.isprintable():
            return None
        found = self._directory.find_by_email(email)
        return None if found is None else found.subject

    def names(self, ids: Iterable[str]) -> dict[str, str]:
        """The names of those of these people who are there, by id."""
        table = self._models.table
        statement = (
            select(table.c.subject, self._models.user_name)
            .join_from(
                table, self._models.user_key.table, table.c.account_key == self._models.user_key
            )
            .where(table.c.subject.in_({*ids}))
        )
        rows = self._session.connection().execute(statement)
        return {subject: name or "" for subject, name in rows}

    def arrivals(self, person_id: str) -> list[Arrival]:
        """Whether the last change of a person, or their erasure, has reached each service."""
        row = self._row(person_id)
        if row is not None:
            return self._services.arrivals(
                row["revision"], row["updated_at"].replace(tzinfo=dt.UTC)
            )
        erased = self._erased_row(person_id)
        if erased is None:
            return []
        return self._services.arrivals(erased.revision, erased.erased_at.replace(tzinfo=dt.UTC))

    # --- changing ------------------------------------------------------------------------------

    def add(
        self,
        *,
        name: str,
        email: str | None = None,
        person_id: str | None = None,
        phone: str | None = None,
        tags: Iterable[str] = (),
        password: str | None = None,
        administrator: bool = False,
    ) -> str:
        """Make an account; its id. Raises InvalidValue naming the field."""
        return self._transactions.run(
            lambda: (
                self._directory.add(
                    actor=self._actor,
                    name=name,
                    email=email,
                    subject=person_id,
                    phone=phone,
                    tags=tuple(tags),
                    password=password,
                    administrator=administrator,
                ).subject
            )
        )

    def change(
        self,
        person_id: str,
        *,
        version: str,
        name: str | Unset = UNSET,
        email: str | Unset | None = UNSET,
        phone: str | Unset | None = UNSET,
        password: str | Unset = UNSET,
        administrator: bool | Unset = UNSET,
    ) -> None:
        """Change what is given and differs.

        version: of the person as the administrator saw them; what somebody else changed meanwhile
        is not overwritten. Raises UnknownRecord, or InvalidValue naming the field.
        """
        seen = self._row(person_id)
        if seen is None:
            raise UnknownRecord(f"No account has the id {person_id!r}.")
        change = Change(
            name=_unless_same(name, seen["account_name"]),
            email=_unless_same(email, seen["account_email"]),
            phone=_unless_same(phone, seen["phone"]),
            password=password,
            administrator=_unless_same(administrator, seen["administrator"]),
        )

        def work() -> None:
            record = self._directory.record(person_id)  # locked: this is what is changed
            if version_of(record.revision, record.phone) != version:
                raise InvalidValue("version", "somebody else changed this person meanwhile")
            if change.names():
                self._directory.change(person_id, change, actor=self._actor)

        self._transactions.run(work)

    def add_tag(self, person_id: str, tag: str) -> None:
        """Give a person a tag. Raises UnknownRecord, or InvalidValue."""
        self._change(person_id, Change(tags_add=(tag,)))

    def remove_tag(self, person_id: str, tag: str) -> None:
        """Take a tag away. Raises UnknownRecord, or InvalidValue."""
        self._change(person_id, Change(tags_remove=(tag,)))

    def disable(self, person_id: str) -> None:
        """Disable everywhere, at once. Raises UnknownRecord, or InvalidValue."""
        self._change(person_id, Change(disabled=True))

    def enable(self, person_id: str) -> None:
        """Enable again, whoever disabled. Raises UnknownRecord."""
        self._change(person_id, Change(disabled=False))

    def sign_out(self, person_id: str) -> None:
        """End every session, code and token of a person. Raises UnknownRecord."""
        self._transactions.run(
            lambda: self._directory.sign_out_everywhere(self._of(person_id), actor=self._actor)
        )

    def reset_factors(self, person_id: str) -> None:
        """Take all second factors from somebody who lost them. Raises UnknownRecord."""
        self._transactions.run(lambda: self._factors.reset(self._of(person_id), actor=self._actor))

    def erase(self, person_id: str) -> None:
        """Erase for good; only the id stays taken. Raises UnknownRecord, or InvalidValue."""
        self._transactions.run(
            lambda: self._directory.erase(self._of(person_id), actor=self._actor)
        )

    # --- details -------------------------------------------------------------------------------

    def _change(self, person_id: str, change: Change) -> None:
        self._transactions.run(
            lambda: self._directory.change(self._of(person_id), change, actor=self._actor)
        )

    def _of(self, person_id: str) -> str:
        """An id that somebody can have. Raises UnknownRecord."""
        if not is_subject(person_id):
            raise UnknownRecord("No account can have this id.")
        return person_id

    def _row(self, person_id: str) -> Any:
        if not is_subject(person_id):
            return None
        table = self._models.table
        columns = (
            *account_columns(self._models),
            table.c.password,
            table.c.legacy_password,
            table.c.revision,
        )
        statement = (
            select(*columns)
            .join_from(
                table, self._models.user_key.table, table.c.account_key == self._models.user_key
            )
            .where(table.c.subject == person_id)
        )
        return self._session.connection().execute(statement).mappings().first()

    def _erased_row(self, person_id: str) -> Any:
        if not is_subject(person_id):
            return None
        gone = self._erased.c
        statement = select(gone.revision, gone.erased_at).where(gone.subject == person_id)
        return self._session.connection().execute(statement).first()


def _unless_same(value: T | Unset, held: T) -> T | Unset:
    return UNSET if value == held else value
