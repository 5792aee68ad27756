"""Passkeys and security keys (WebAuthn Level 3): their rows, and what they sign."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import webauthn
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
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url, parse_client_data_json
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    CredentialDeviceType,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)
from webauthn.registration.verify_registration_response import VerifiedRegistration

from idsync.accounts.record import AccountModels, AccountRecord
from idsync.accounts.rules import checked_text
from idsync.database import DatabaseSession
from idsync.errors import InvalidValue
from idsync.signin.challenges import LIFETIME, Challenges

T = TypeVar("T")

LONGEST_ID = 1023
"""Bytes of a credential's id (WebAuthn Level 3 §7.1)."""

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


class Passkeys:
    """Passkeys in the database. Commits only the use of a challenge."""

    def __init__(
        self,
        session: DatabaseSession,
        table: Table,
        challenges: Challenges,
        issuer: Callable[[], str],
    ) -> None:
        self._session = session
        self.table = table
        self._challenges = challenges
        self._issuer = issuer

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
        options = webauthn.generate_registration_options(
            rp_id=self._rp_id(),
            rp_name=self._rp_id(),
            user_id=record.subject.encode(),
            user_name=record.user.email or record.user.name,
            user_display_name=record.user.name,
            challenge=self._challenges.make(_creation(record.subject)),
            timeout=LIFETIME * 1000,
            exclude_credentials=self._descriptors(record.account_key),
            authenticator_selection=AuthenticatorSelectionCriteria(
                resident_key=ResidentKeyRequirement.PREFERRED,
                user_verification=UserVerificationRequirement.PREFERRED,
            ),
        )
        return webauthn.options_to_json(options)

    def verified(self, subject: str, response: str) -> VerifiedRegistration | None:
        """A new passkey of this account, if the browser's answer is right; uses the challenge up.

        Commits that, so it comes before the account is locked.
        """
        challenge = self._challenge_of(response, _creation(subject))
        if challenge is None:
            return None
        made = _or_none(
            lambda: webauthn.verify_registration_response(
                credential=response,
                expected_challenge=challenge,
                expected_rp_id=self._rp_id(),
                expected_origin=self._origin(),
            )
        )
        if made is None or len(made.credential_id) > LONGEST_ID:
            return None
        return made if self._challenges.use_up(challenge) else None

    def add(self, record: AccountRecord, made: VerifiedRegistration, label: str) -> bool:
        """Keep a passkey of a locked account; False where somebody has it already.

        Raises InvalidValue for the label, and where there are too many.
        """
        label = checked_text("label", label.strip(), longest=LONGEST_LABEL)
        if len(self.of(record.account_key)) >= MOST:
            raise InvalidValue("passkey", f"an account has {MOST} at most")
        values = {
            "id": made.credential_id,
            "account_key": record.account_key,
            "public_key": made.credential_public_key,
            "sign_count": made.sign_count,
            "synced": made.credential_device_type == CredentialDeviceType.MULTI_DEVICE,
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
        anybody = account_key is None
        required = UserVerificationRequirement.REQUIRED
        options = webauthn.generate_authentication_options(
            rp_id=self._rp_id(),
            challenge=self._challenges.make(purpose),
            timeout=LIFETIME * 1000,
            allow_credentials=None if anybody else self._descriptors(account_key),
            user_verification=required if anybody else UserVerificationRequirement.PREFERRED,
        )
        return webauthn.options_to_json(options)

    def check(self, purpose: str, response: str, *, alone: bool) -> Asserted | None:
        """Whose passkey signed, if all is right; uses the challenge up, and commits that.

        alone: it is to be the only proof, so the device must have made sure who the person is.
        """
        challenge = self._challenge_of(response, purpose)
        raw_id = _or_none(lambda: base64url_to_bytes(json.loads(response)["rawId"]))
        if challenge is None or raw_id is None:
            return None
        row = self._row(raw_id)
        if row is None:
            return None
        verified = _or_none(
            lambda: webauthn.verify_authentication_response(
                credential=response,
                expected_challenge=challenge,
                expected_rp_id=self._rp_id(),
                expected_origin=self._origin(),
                credential_public_key=row.public_key,
                credential_current_sign_count=row.sign_count,
                require_user_verification=alone,
            )
        )
        if verified is None or not self._challenges.use_up(challenge):
            return None
        count, table = verified.new_sign_count, self.table
        # A copied key is behind the row: its counter was used already (WebAuthn §6.1.1).
        fresh = or_(table.c.sign_count < count, table.c.sign_count == 0)
        used = self._execute(
            update(table)
            .where(table.c.id == row.id, fresh)
            .values(sign_count=count, last_used_at=int(time.time()))
        )
        if not used.rowcount:
            return None
        kind = "swk" if row.synced else "hwk"
        return Asserted(row.account_key, (kind, "user") if alone else (kind,))

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

    def _challenge_of(self, response: str, purpose: str) -> bytes | None:
        """The challenge that an answer of the browser names, if it is ours."""

        def named() -> bytes:
            encoded = json.loads(response)["response"]["clientDataJSON"]
            return parse_client_data_json(base64url_to_bytes(encoded)).challenge

        challenge = _or_none(named)
        if challenge is None or not self._challenges.is_ours(challenge, purpose):
            return None
        return challenge

    def _descriptors(self, account_key: Any) -> list[PublicKeyCredentialDescriptor]:
        table = self.table.c
        rows = self._execute(select(table.id).where(table.account_key == account_key))
        return [PublicKeyCredentialDescriptor(id=row.id) for row in rows]

    def _row(self, credential_id: bytes) -> Any:
        return self._execute(select(self.table).where(self.table.c.id == credential_id)).first()

    def _origin(self) -> str:
        """The issuer's origin as browsers write it (RFC 6454 §6.2)."""
        parts = urlsplit(self._issuer())
        host = self._rp_id()
        host = f"[{host}]" if ":" in host else host
        usual = {"https": 443, "http": 80}[parts.scheme]
        port = "" if parts.port in (None, usual) else f":{parts.port}"
        return f"{parts.scheme}://{host}{port}"

    def _rp_id(self) -> str:
        return urlsplit(self._issuer()).hostname or ""

    def _execute(self, statement: Any) -> Any:
        return self._session.connection().execute(statement)


def _creation(subject: str) -> str:
    return f"new {subject}"


def _or_none(read: Callable[[], T]) -> T | None:
    """What was read of an answer that may be anything; None where that failed, in whatever way.

    Its parsers, of JSON, CBOR and certificates, raise many kinds of errors on garbage.
    """
    try:
        return read()
    except Exception:
        return None
