"""The one password verifier an account has: reading, checking, renewing and replacing it.

A verifier is sealed with the account's subject, so that a row moved in the database opens nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, select, update

from idsync.accounts.record import AccountModels, AccountRecord
from idsync.crypto import identifiers
from idsync.crypto.exchange import ExchangeHashError, UnusablePassword
from idsync.crypto.passwords import Passwords
from idsync.crypto.sealing import Sealer, UnsealError
from idsync.database import DatabaseSession
from idsync.errors import InvalidValue

PURPOSE = "password"

LegacyCheck = Callable[[Any, str], bool]


@dataclass(frozen=True, slots=True)
class Verified:
    """A password that was right, and the epoch read by the statement that read its verifier."""

    account_key: Any
    epoch: bytes


class AccountPasswords:
    """Checks and writes passwords. Never commits; the caller's transaction does."""

    def __init__(
        self,
        session: DatabaseSession,
        models: AccountModels,
        sealer: Sealer,
        passwords: Passwords,
        legacy_check: LegacyCheck | None,
        touch: Callable[[Any], None],
    ) -> None:
        self._session = session
        self._table = models.table
        self._models = models
        self._sealer = sealer
        self._passwords = passwords
        self._legacy_check = legacy_check
        self._touch = touch
        table = self._table.c
        self._credential = select(
            table.subject,
            table.password,
            table.legacy_password,
            table.administrator,
            table.disabled_by,
            table.epoch,
        ).where(table.account_key == bindparam("key"))

    def verify(
        self, user: Any | None, plain: str, ensure_record: Callable[[Any], object]
    ) -> Verified | None:
        """Check a password. An unknown person (None) costs the same and is never right.

        `ensure_record` makes the row of somebody who has none yet, once the host's own check said
        yes: a guess writes nothing.
        """
        key = None if user is None else self._models.key_of(user)
        row = None if user is None else self._read(key)
        checked_by_host = False
        if user is not None and row is None and self._legacy_check is not None:
            checked_by_host = self._legacy_check(user, plain)
            if not checked_by_host:
                return None
            ensure_record(user)
            row = self._read(key)
        if row is None or row.disabled_by is not None:
            self._passwords.verify(None, plain)
            return None
        if row.legacy_password and self._legacy_check is not None:
            if not checked_by_host and not self._legacy_check(user, plain):
                return None
            self._replace(key, row, plain)
            return Verified(key, row.epoch)
        verifier = self._unsealed(row.subject, row.password)
        if not self._passwords.verify(verifier, plain) or verifier is None:
            return None
        if self._passwords.needs_renewal(verifier, administrator=row.administrator):
            self._replace(key, row, plain)
        return Verified(key, row.epoch)

    def write(self, record: AccountRecord, plain: str) -> None:
        """Give an account a new password; everything it holds ends (a new epoch)."""
        self.write_verifier(
            record, self._passwords.new_verifier(plain, administrator=record.administrator)
        )

    def write_verifier(self, record: AccountRecord, verifier: str | None) -> None:
        """Store a verifier as it is. The same value again changes nothing."""
        if not record.legacy_password and self._holds(record, verifier):
            return
        record.password = None if verifier is None else self._sealed(record.subject, verifier)
        record.legacy_password = False
        record.epoch = identifiers.new_epoch()

    def write_exchange(self, record: AccountRecord, text: str) -> None:
        """Store an exchange hash that a service sent. Raises InvalidValue."""
        self.write_verifier(record, self.checked_exchange(text))

    def checked_exchange(self, text: str) -> str:
        """An exchange hash in the form it is stored. Raises InvalidValue."""
        try:
            return self._passwords.read_exchange(text)
        except ExchangeHashError as error:
            raise InvalidValue("password", str(error)) from None

    def checked_import(self, text: str) -> str | None:
        """A hash from a file, also as Werkzeug or Django stores it, in the form it is stored here.

        None where it says that there is no password. Raises InvalidValue.
        """
        try:
            return self._passwords.read_foreign(text)
        except ExchangeHashError as error:
            raise InvalidValue("password", str(error)) from None

    def verifier(self, record: AccountRecord) -> str | None:
        """The stored verifier."""
        return self._unsealed(record.subject, record.password)

    def open(self, subject: str, blob: bytes | None) -> str | None:
        """The verifier in a stored blob. Raises UnsealError."""
        return self._unsealed(subject, blob)

    def _read(self, key: Any) -> Any:
        return self._session.connection().execute(self._credential, {"key": key}).first()

    def _replace(self, key: Any, row: Any, plain: str) -> None:
        """Renew or take over, only where the verified value is still the stored one."""
        try:
            verifier = self._passwords.new_verifier(plain, administrator=row.administrator)
        except UnusablePassword:
            return  # the host's check accepts longer ones than we keep; it goes on deciding
        table, user_key = self._table, self._models.user_key
        # The site's row is locked first, as everywhere: the site may write to it after us.
        self._session.connection().execute(
            select(user_key).where(user_key == key).with_for_update(key_share=True)
        )
        same = table.c.password.is_(None)
        if row.password is not None:
            same = table.c.password == row.password
        replaced = self._session.connection().execute(
            update(table)
            .where(table.c.account_key == key, same, table.c.epoch == row.epoch)
            .values(password=self._sealed(row.subject, verifier), legacy_password=False)
        )
        if replaced.rowcount:
            self._touch(key)

    def _holds(self, record: AccountRecord, verifier: str | None) -> bool:
        try:
            return self._unsealed(record.subject, record.password) == verifier
        except UnsealError:
            return False  # what cannot be opened can still be replaced

    def _sealed(self, subject: str, verifier: str) -> bytes:
        return self._sealer.seal(verifier.encode("ascii"), purpose=PURPOSE, subject=subject)

    def _unsealed(self, subject: str, blob: bytes | None) -> str | None:
        if blob is None:
            return None
        return self._sealer.unseal(blob, purpose=PURPOSE, subject=subject).decode("ascii")
