"""The Directory: how accounts are found, made, changed and erased, whoever asks.

Works inside the caller's transaction and never commits, so that a host's own changes and ours
succeed or fail together. Every change locks the account's rows first (the host's, then ours), so
two changes of one account follow one another and both hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import Table, exists, select
from sqlalchemy.exc import IntegrityError

from idsync.accounts.administrators import Administrators, keep_one
from idsync.accounts.change import (
    UNSET,
    Change,
    change_disabled,
    differences,
    protect_administrator,
    values_of,
)
from idsync.accounts.passwords import AccountPasswords
from idsync.accounts.record import AccountModels, AccountRecord, new_record
from idsync.accounts.rules import (
    LONGEST_EMAIL,
    checked_email,
    checked_name,
    checked_password,
    checked_phone,
    checked_subject,
    checked_tags,
    checked_text,
    email_key,
)
from idsync.accounts.search import AccountSearch
from idsync.audit.events import Actor, Audit
from idsync.crypto import identifiers
from idsync.database import DatabaseSession, begin_write
from idsync.errors import InvalidValue, UnknownRecord

NewUser = Callable[[str, str | None], Any]


class Directory(AccountSearch):
    """Accounts: find, make, change, erase."""

    def __init__(
        self,
        session: DatabaseSession,
        models: AccountModels,
        passwords: AccountPasswords,
        audit: Audit,
        new_user: NewUser,
        erased: Table,
    ) -> None:
        super().__init__(session, models)
        self._passwords = passwords
        self._audit = audit
        self._new_user = new_user
        self._erased = erased
        self._administrators = Administrators(session, models)

    # --- make ----------------------------------------------------------------------------------

    def add(
        self,
        *,
        actor: Actor,
        name: str,
        email: str | None = None,
        subject: str | None = None,
        phone: str | None = None,
        tags: Iterable[str] = (),
        password: str | None = None,
        verifier: str | None = None,
        administrator: bool = False,
    ) -> AccountRecord:
        """Make an account.

        password: the plain text; verifier: an exchange hash instead. Raises InvalidValue naming the
        field; a taken e-mail, phone number or id is one of them.
        """
        begin_write(self._session, self._models.table)
        name = checked_name(name)
        email = None if email is None else checked_email(email)
        phone = None if phone is None else checked_phone(phone)
        tags = checked_tags("tags", tags)
        password = None if password is None else checked_password(password)
        if subject is not None and self._subject_taken(checked_subject(subject)):
            raise InvalidValue("id", "taken by another account")
        self._refuse_taken(email=email, phone=phone)
        user = self._new_user(name, email)
        record = new_record(self._models, user, legacy_password=False)
        record.subject = subject or record.subject
        record.email_key = None if email is None else email_key(email)
        record.phone = phone
        record.tags = tags
        record.administrator = administrator
        if password is not None:
            self._passwords.write(record, password)
        elif verifier is not None:
            self._passwords.write_exchange(record, verifier)
        self._session.add_all([user, record])
        self._flush()
        right: dict[str, Any] = {"administrator": True} if administrator else {}
        self._audit.record("account created", actor, subject=record.subject, tags=tags, **right)
        return record

    def create_or_attach(
        self,
        *,
        actor: Actor,
        name: str,
        email: str | None,
        verifier: str | None,
        tags: Iterable[str],
        subject: str | None = None,
    ) -> tuple[AccountRecord, bool]:
        """Make an account, or give the one with this e-mail the tags; True where it existed.

        An existing account keeps its password, its name and its id. What is wrong is refused for
        an existing account too: a plain password above all.
        """
        tags = checked_tags("tags", tags)
        name = checked_name(name)
        if email is not None:
            checked_text("email", email, longest=LONGEST_EMAIL)  # its syntax only where it is new
        if verifier is not None:
            verifier = self._passwords.checked_exchange(verifier)
        if subject is not None:
            checked_subject(subject)
        begin_write(self._session, self._models.table)
        for _ in range(2):
            existing = None if email is None else self._locked_by_email(email)
            if existing is not None:
                existing.tags = sorted({*existing.tags, *tags})
                self._session.flush()
                self._audit.record("account attached", actor, subject=existing.subject, tags=tags)
                return existing, True
            try:
                with self._session.begin_nested():
                    made = self.add(
                        actor=actor,
                        name=name,
                        email=email,
                        subject=subject,
                        tags=tags,
                        verifier=verifier,
                    )
                return made, False
            except InvalidValue as error:
                # Somebody made the same person between our look and our insert: look again.
                if error.field != "email" or email is None or not self.is_taken(email=email):
                    raise
        raise InvalidValue("email", "taken by another account")

    # --- change --------------------------------------------------------------------------------

    def change(self, subject: str, change: Change, *, actor: Actor) -> AccountRecord:
        """Change an account, all of it or nothing.

        A service may not touch password, e-mail or disabled of an administrator, nor enable what
        an administrator disabled; nobody but a command takes the last administrator away. Raises
        UnknownRecord or InvalidValue.
        """
        taken_away = change.takes_administrator_away()
        administrators = self._administrators.lock_all(actor) if taken_away else frozenset()
        record = self.record(subject)
        if taken_away:
            keep_one(taken_away, record, administrators)
        if actor.kind == "service":
            protect_administrator(record, change)
        added = {*checked_tags("tags_add", change.tags_add)}
        removed = {*checked_tags("tags_remove", change.tags_remove)}
        if added & removed:
            both = min(added & removed)
            raise InvalidValue("tags_add", "%(tag)r is to be removed as well", tag=both)
        before = values_of(record)
        if change.name is not UNSET:
            record.user.name = checked_name(change.name)
        if change.email is not UNSET:
            self._change_email(record, change.email)
        if change.phone is not UNSET:
            self._change_phone(record, change.phone)
        if change.administrator is not UNSET:
            record.administrator = change.administrator
        self._change_password(record, change)
        tags = {*record.tags, *added} - removed
        if tags != {*record.tags}:
            record.tags = sorted(tags)
        if change.disabled is not UNSET:
            change_disabled(record, change.disabled, actor)
        self._flush()
        details = differences(before, values_of(record))
        if details:
            email = before["email"] if "email" in details["fields"] else None
            self._audit.record(
                "account changed", actor, subject=subject, previous_email=email, **details
            )
        return record

    def sign_out_everywhere(self, subject: str, *, actor: Actor) -> None:
        """End every session and grant of an account."""
        self.record(subject).epoch = identifiers.new_epoch()
        self._flush()
        self._audit.record("signed out everywhere", actor, subject=subject)

    def erase(self, subject: str, *, actor: Actor) -> None:
        """Erase an account and the host's user; the id stays taken, consumers hear of it.

        Raises UnknownRecord, or InvalidValue for the last administrator.
        """
        administrators = self._administrators.lock_all(actor)
        record = self.record(subject)
        keep_one("id", record, administrators)
        if actor.kind == "service":
            raise InvalidValue("id", "an account is erased by an administrator only")
        self._audit.record("account erased", actor, subject=subject)
        self._session.delete(record.user)
        self._flush()

    def record(self, subject: str) -> AccountRecord:
        """The companion row with this subject, locked and as it is now. Raises UnknownRecord."""
        record = self._locked(self._models.table.c.subject == subject)
        if record is None:
            raise UnknownRecord(f"No account has the id {subject!r}.")
        return record

    # --- details -------------------------------------------------------------------------------

    def _change_email(self, record: AccountRecord, email: str | None) -> None:
        if email is None:
            record.user.email = None
            return
        if email == record.user.email:
            return
        email = checked_email(email)
        if email_key(email) != record.email_key:
            self._refuse_taken(email=email)
        record.user.email = email

    def _change_phone(self, record: AccountRecord, phone: str | None) -> None:
        phone = None if phone is None else checked_phone(phone)
        if phone != record.phone:
            self._refuse_taken(phone=phone)
        record.phone = phone

    def _change_password(self, record: AccountRecord, change: Change) -> None:
        if change.verifier is not UNSET:
            if change.verifier is None:
                self._passwords.write_verifier(record, None)
            else:
                self._passwords.write_exchange(record, change.verifier)
        elif change.password is not UNSET:
            if change.password is None:
                self._passwords.write_verifier(record, None)
            else:
                self._passwords.write(record, checked_password(change.password))

    def _locked(self, condition: Any) -> AccountRecord | None:
        """The companion row a condition names, locked after the host's own row, and fresh."""
        begin_write(self._session, self._models.table)
        user, record = self._models.user_class, self._models.record_class
        row = self._session.execute(
            select(user, record)
            .join_from(user, record, record.account_key == self._models.user_key)
            .where(condition)
            # FOR NO KEY UPDATE: what only refers to the rows, as every stamp does, need not wait.
            .with_for_update(key_share=True)
            .execution_options(populate_existing=True)
        ).first()
        return None if row is None else row[1]

    def _locked_by_email(self, email: str) -> AccountRecord | None:
        return self._locked(self._models.table.c.email_key == email_key(email))

    def _flush(self) -> None:
        """Flush, and say which value another transaction took in the meantime."""
        try:
            self._session.flush()
        except IntegrityError as error:
            message = str(error.orig).partition("\n")[0]  # the next line has the value, any text
            for column, field in (("email", "email"), ("phone", "phone"), ("subject", "id")):
                if column in message:
                    raise InvalidValue(field, "taken by another account") from None
            raise

    def _refuse_taken(self, *, email: str | None = None, phone: str | None = None) -> None:
        if email is not None and self.is_taken(email=email):
            raise InvalidValue("email", "taken by another account")
        if phone is not None and self.is_taken(phone=phone):
            raise InvalidValue("phone", "taken by another account")

    def _subject_taken(self, subject: str) -> bool:
        here = exists().where(self._models.table.c.subject == subject)
        erased = exists().where(self._erased.c.subject == subject)
        return bool(self._session.connection().execute(select(here | erased)).scalar())
