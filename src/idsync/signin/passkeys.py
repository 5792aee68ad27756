"""Passkeys and security keys as rows. What browsers are asked and answer: `ceremonies.py`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    LargeBinary,
    MetaData,
    String,
    Table,
    delete,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url
from webauthn.helpers.structs import CredentialDeviceType
from webauthn.registration.verify_registration_response import VerifiedRegistration

from idsync.accounts.record import AccountModels, AccountRecord
from idsync.accounts.rules import checked_text
from idsync.database import DatabaseSession
from idsync.errors import InvalidValue
from idsync.signin.ceremonies import LONGEST_ID, Ceremonies

LONGEST_LABEL = 60

MOST = 20
"""Passkeys of one account."""

SIGN_IN = "sign in"
CONFIRM = "confirm"


@dataclass(frozen=True, slots=True)
class Passkey:
    """A passkey as its owner sees it. Times are unix seconds."""

    id: str
    label: str
    created_at: int
    last_used_at: int | None


@dataclass(frozen=True, slots=True)
class Asserted:
    """A passkey that signed a challenge of ours, and how: `amr` by RFC 8176 §2."""

    account_key: Any
    amr: tuple[str, ...]


def define_passkey_table(metadata: MetaData, models: AccountModels) -> Table:
    """`idsync_passkey`: one row per passkey. Times are unix seconds.

    synced: it may be copied between its owner's devices.
    """
    key = models.table.c.account_key
    return Table(
        "idsync_passkey",
        metadata,
        Column("id", LargeBinary(LONGEST_ID), primary_key=True),
        Column(
            "account_key",
            key.type,
            ForeignKey(key, ondelete="CASCADE"),
            nullable=False,
            index=True,
        ),
        Column("public_key", LargeBinary, nullable=False),
        Column("sign_count", BigInteger, nullable=False),
        Column("synced", Boolean, nullable=False),
        Column("label", String(LONGEST_LABEL), nullable=False),
        Column("created_at", BigInteger, nullable=False),
        Column("last_used_at", BigInteger),
    )


def is_synced(made: VerifiedRegistration) -> bool:
    """Whether a new passkey may be copied between its owner's devices."""
    return made.credential_device_type == CredentialDeviceType.MULTI_DEVICE


def amr_of(*, synced: bool) -> tuple[str, ...]:
    """What the possession of a passkey adds to `amr`: a key in software, or in one device."""
    return ("swk" if synced else "hwk",)


class Passkeys:
    """Passkeys in the database. Commits only the use of a challenge."""

    def __init__(self, session: DatabaseSession, table: Table, ceremonies: Ceremonies) -> None:
        self._session = session
        self.table = table
        self._ceremonies = ceremonies

    def of(self, account_key: Any) -> list[Passkey]:
        """An account's passkeys, the oldest first."""
        table = self.table.c
        rows = self._execute(
            select(table.id, table.label, table.created_at, table.last_used_at)
            .where(table.account_key == account_key)
            .order_by(table.created_at, table.id)
        )
        return [Passkey(bytes_to_base64url(row.id), *row[1:]) for row in rows]

    # --- a new one -----------------------------------------------------------------------------

    def creation_options(self, record: AccountRecord) -> str:
        """What the browser needs to make a passkey, as JSON."""
        return self._ceremonies.creation_options(
            record.subject,
            name=record.user.email or record.user.name,
            display_name=record.user.name,
            known=self._ids(record.account_key),
        )

    def verified(self, subject: str, response: str) -> VerifiedRegistration | None:
        """A new passkey of this account, if the browser's answer is right; uses the challenge up.

        Commits that, so it comes before the account is locked.
        """
        return self._ceremonies.created(subject, response)

    def add(self, record: AccountRecord, made: VerifiedRegistration, label: str) -> bool:
        """Keep a passkey of a locked account; False where somebody has it already.

        Raises InvalidValue for the label, and where there are too many.
        """
        label = checked_text("label", label.strip(), longest=LONGEST_LABEL)
        if len(self.of(record.account_key)) >= MOST:
            raise InvalidValue("passkey", "an account has %(most)d at most", most=MOST)
        values = {
            "id": made.credential_id,
            "account_key": record.account_key,
            "public_key": made.credential_public_key,
            "sign_count": made.sign_count,
            "synced": is_synced(made),
            "label": label,
            "created_at": int(time.time()),
        }
        try:
            with self._session.begin_nested():
                self._execute(insert(self.table).values(values))
        except IntegrityError:
            return False
        return True

    # --- using one -----------------------------------------------------------------------------

    def request_options(self, purpose: str, account_key: Any | None = None) -> str:
        """What the browser needs to ask for a passkey, as JSON.

        Without an account the person chooses among those that the device knows, and proves to it
        who they are.
        """
        allowed = None if account_key is None else self._ids(account_key)
        return self._ceremonies.request_options(purpose, allowed)

    def check(self, purpose: str, response: str, *, alone: bool) -> Asserted | None:
        """Whose passkey signed, if all is right; uses the challenge up, and commits that.

        alone: it is to be the only proof, so the device must have made sure who the person is.
        """
        credential_id = self._ceremonies.answering(purpose, response)
        row = None if credential_id is None else self._row(credential_id)
        if row is None:
            return None
        count = self._ceremonies.asserted(
            purpose, response, row.public_key, row.sign_count, alone=alone
        )
        if count is None:
            return None
        table = self.table
        # A copied key is behind the row: its counter was used already (WebAuthn §6.1.1). It was
        # compared with the row as it was read; of two uses at once, the row decides.
        fresh = or_(table.c.sign_count < count, table.c.sign_count == 0)
        used = self._execute(
            update(table)
            .where(table.c.id == row.id, fresh)
            .values(sign_count=count, last_used_at=int(time.time()))
        )
        if not used.rowcount:
            return None
        amr = amr_of(synced=row.synced)
        return Asserted(row.account_key, (*amr, "user") if alone else amr)

    def remove(self, account_key: Any, passkey_id: str) -> bool:
        """Forget one of an account's passkeys."""
        table = self.table.c
        try:
            raw = base64url_to_bytes(passkey_id)
        except ValueError:
            return False
        gone = self._execute(
            delete(self.table).where(table.account_key == account_key, table.id == raw)
        )
        return bool(gone.rowcount)

    def remove_all(self, account_key: Any) -> None:
        """Forget all passkeys of an account."""
        self._execute(delete(self.table).where(self.table.c.account_key == account_key))

    # --- details -------------------------------------------------------------------------------

    def _ids(self, account_key: Any) -> list[bytes]:
        table = self.table.c
        rows = self._execute(select(table.id).where(table.account_key == account_key))
        return [row.id for row in rows]

    def _row(self, credential_id: bytes) -> Any:
        return self._execute(select(self.table).where(self.table.c.id == credential_id)).first()

    def _execute(self, statement: Any) -> Any:
        return self._session.connection().execute(statement)
