"""Taking people out of a file: the whole of it is checked before anything is written.

A person who is there already, by id or else by e-mail address, gets the tags and keeps everything
else, as when a service creates them. So a run that was interrupted is simply made again: whoever it
wrote is there, has the tags, and nothing happens to them twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TextIO, TypeVar

from sqlalchemy import Table, or_, select
from sqlalchemy.exc import DBAPIError, IntegrityError

from idsync.accounts.passwords import AccountPasswords
from idsync.accounts.record import (
    DISABLED_BY_ADMINISTRATOR,
    AccountModels,
    AccountRecord,
    new_record,
)
from idsync.accounts.rules import email_key
from idsync.accounts.transfer.files import read_lines
from idsync.accounts.transfer.person import Person, read_person
from idsync.accounts.transfer.spool import Spool
from idsync.audit.events import Actor, Audit, Occurrence
from idsync.database import DatabaseSession, begin_write, may_be_retried
from idsync.errors import IdSyncError, InvalidValue

BATCH = 1000
"""People written in one transaction."""

ATTEMPTS = 5
"""How often a batch is begun anew because others changed the same accounts at the same moment."""

T = TypeVar("T")
Batch = list[tuple[int, Person]]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a line cannot be imported."""

    line: int
    error: InvalidValue

    def __str__(self) -> str:
        return f"line {self.line}: {self.error}"


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a batch. attached: were there, and got tags; unchanged: had them."""

    created: int
    attached: int
    unchanged: int


class ImportStopped(IdSyncError):
    """The database refused people of a file that was in order when it was checked.

    The batches before were written; the same import goes on from there.
    """


class Imports:
    """Checks files of people against the directory, and writes them into it."""

    def __init__(
        self,
        session: DatabaseSession,
        models: AccountModels,
        passwords: AccountPasswords,
        audit: Audit,
        new_user: Callable[[str, str | None], Any],
        erased: Table,
    ) -> None:
        self._session = session
        self._models = models
        self._passwords = passwords
        self._audit = audit
        self._new_user = new_user
        self._erased = erased

    # --- check ---------------------------------------------------------------------------------

    def check(self, file: TextIO, file_format: str, spool: Spool) -> Iterator[Problem | None]:
        """Read a file into a spool; gives a Problem, or None, for each of its people.

        file: opened as UTF-8 with `surrogateescape`. Only what gave no problem may be written.
        """
        batch: Batch = []
        for line in read_lines(file, file_format):
            problem = line.problem
            if problem is None:
                try:
                    person = read_person(line.values, self._passwords.checked_import)
                    self._take(line.number, person, spool)
                    batch.append((line.number, person))
                except InvalidValue as error:
                    problem = error
            if problem is not None:
                yield Problem(line.number, problem)
            if len(batch) == BATCH:
                yield from self._check_batch(batch, spool)
                batch = []
        yield from self._check_batch(batch, spool)

    def _take(self, line: int, person: Person, spool: Spool) -> None:
        """Refuse what an earlier line has already."""
        key = None if person.email is None else email_key(person.email)
        for field, value in (("id", person.id), ("email", key), ("phone", person.phone)):
            earlier = None if value is None else spool.take(field, value, line)
            if earlier is not None:
                raise InvalidValue(field, "is that of line %(line)d too", line=earlier)

    def _check_batch(self, batch: Batch, spool: Spool) -> Iterator[Problem | None]:
        table = self._models.table.c
        owners = (
            self._session.connection()
            .execute(
                select(table.subject, table.email_key, table.phone).where(
                    self._is_one_of(batch)
                    | table.phone.in_([person.phone for _, person in batch if person.phone])
                )
            )
            .all()
        )
        by_id = {row.subject: row.subject for row in owners}
        by_email = {row.email_key: row.subject for row in owners}
        phones = {row.phone for row in owners}
        erased = self._erased_of(batch)
        for line, person in batch:
            error = None
            same_id, same_email = _matches(person, by_id, by_email)
            if person.id in erased:
                error = InvalidValue("id", "is that of an erased account")
            elif same_id and same_email and same_id != same_email:
                error = InvalidValue("email", "is that of another account than the id")
            elif not (same_id or same_email) and person.phone and person.phone in phones:
                error = InvalidValue("phone", "taken by another account")
            if error is None:
                spool.add(line, person)
            yield None if error is None else Problem(line, error)

    # --- write ---------------------------------------------------------------------------------

    def write(self, spool: Spool, *, actor: Actor) -> Iterator[Written]:
        """Write everybody in a spool, some in each transaction; commits. Raises ImportStopped."""
        for batch in spool.batches(BATCH):
            yield self._write_whole(batch, actor)

    def _write_whole(self, batch: Batch, actor: Actor) -> Written:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                written = self._write(batch, actor)
                self._session.commit()
                return written
            except (DBAPIError, InvalidValue) as error:
                self._session.rollback()
                # A constraint that failed: somebody made the same person. They are there now.
                again = isinstance(error, IntegrityError) or (
                    isinstance(error, DBAPIError) and may_be_retried(error)
                )
                if not again or attempt == ATTEMPTS:
                    # The first line alone: the next one may hold the value.
                    reason = str(getattr(error, "orig", error)).partition("\n")[0]
                    raise ImportStopped(
                        f"Lines {batch[0][0]} to {batch[-1][0]} were refused: {reason}"
                    ) from error
        raise AssertionError("unreachable")

    def _write(self, batch: Batch, actor: Actor) -> Written:
        begin_write(self._session, self._models.table)
        records = self._locked(batch)
        by_id = {record.subject: record for record in records}
        by_email = {record.email_key: record for record in records}
        erased = self._erased_of(batch)
        created, attached = [], []
        for line, person in batch:
            same_id, same_email = _matches(person, by_id, by_email)
            existing = same_id or same_email
            if person.id in erased:
                raise InvalidValue("id", "that of line %(line)d was erased meanwhile", line=line)
            if existing is None:
                record = self._create(person)
                created.append(Occurrence(record.subject, {"tags": list(person.tags)}))
            elif set(person.tags) - set(existing.tags):
                existing.tags = sorted({*existing.tags, *person.tags})
                attached.append(Occurrence(existing.subject, {"tags": list(person.tags)}))
        self._session.flush()
        self._audit.record_all("account imported", actor, created)
        self._audit.record_all("account attached", actor, attached)
        return Written(len(created), len(attached), len(batch) - len(created) - len(attached))

    def _create(self, person: Person) -> AccountRecord:
        user = self._new_user(person.name, person.email)
        record = new_record(self._models, user, legacy_password=False)
        record.subject = person.id or record.subject
        record.email_key = None if person.email is None else email_key(person.email)
        record.email_verified = person.email_verified
        record.phone = person.phone
        record.tags = list(person.tags)
        record.disabled_by = DISABLED_BY_ADMINISTRATOR if person.disabled else None
        self._passwords.write_verifier(record, person.password)
        self._session.add_all([user, record])
        return record

    def _locked(self, batch: Batch) -> list[AccountRecord]:
        """The accounts a batch names, each locked after the site's own row, in one order."""
        user, record = self._models.user_class, self._models.record_class
        rows = self._session.execute(
            select(user, record)
            .join_from(user, record, record.account_key == self._models.user_key)
            .where(self._is_one_of(batch))
            .order_by(self._models.user_key)
            .with_for_update(key_share=True)
            .execution_options(populate_existing=True)
        )
        return [row[1] for row in rows]

    def _is_one_of(self, batch: Batch) -> Any:
        table = self._models.table.c
        return or_(
            table.subject.in_([person.id for _, person in batch if person.id]),
            table.email_key.in_([email_key(person.email) for _, person in batch if person.email]),
        )

    def _erased_of(self, batch: Batch) -> set[str]:
        subject = self._erased.c.subject
        ids = [person.id for _, person in batch if person.id]
        return set(
            self._session.connection().execute(select(subject).where(subject.in_(ids))).scalars()
        )


def _matches(
    person: Person, by_id: Mapping[Any, T], by_email: Mapping[Any, T]
) -> tuple[T | None, T | None]:
    """Who has a person's id, and who their e-mail address."""
    same_email = None if person.email is None else by_email.get(email_key(person.email))
    return by_id.get(person.id), same_email
