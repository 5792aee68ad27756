"""Codes sent to a phone: six digits that sign somebody in, or show that a number is theirs.

One code lives per number and purpose, five minutes, five tries, and only for the browser that asked
for it. Known and unknown numbers are answered alike and in the same time: messages are sent beside
the request.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import time
from collections.abc import Callable
from typing import Any

from flask import session
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from idsync.crypto.keys import derive
from idsync.database import DatabaseSession, write
from idsync.errors import TooManyTries
from idsync.signin.failures import Failures
from idsync.signin.limits import AddressLimit, TryLimit

SIGN_IN = "sign in"
CHANGE = "change"

LIFETIME = 300
"""Seconds a code lives."""

TRIES = 5
"""Entries that a code allows: five in a million is the chance of a guess."""

RESEND_AFTER = 60
"""Seconds until another code can be asked for."""

DIGITS = 6

FIELD = "_idsync_phone"


def define_phone_code_table(metadata: MetaData) -> Table:
    """`idsync_phone_code`: the live code of each number and purpose. Times are unix seconds.

    browser: what only the browser that asked knows, hashed. code: keyed hash; six digits alone
    could be found by trying all of them.
    """
    return Table(
        "idsync_phone_code",
        metadata,
        Column("phone", String(16), primary_key=True),
        Column("purpose", String(16), primary_key=True),
        Column("browser", LargeBinary(32), nullable=False),
        Column("code", LargeBinary(32), nullable=False),
        Column("tries_left", Integer, nullable=False),
        Column("sent_at", BigInteger, nullable=False, index=True),
    )


class PhoneCodes:
    """Makes, sends and checks codes. Commits."""

    def __init__(
        self,
        db_session: DatabaseSession,
        table: Table,
        keys: tuple[bytes, ...],
        sends: TryLimit,
        requests: AddressLimit,
        failures: Failures,
        send_text: Callable[[str, str], None],
    ) -> None:
        self._db_session = db_session
        self._table = table
        self._keys = [derive(key, "phone codes") for key in keys]
        self._sends = sends
        self._requests = requests
        self._failures = failures
        self._send_text = send_text

    def request(
        self, phone: str, purpose: str, text: str, *, deliver: bool = True, subject: str = ""
    ) -> None:
        """Make a code for this browser and send it, inside `text` in place of `{code}`.

        deliver: False for a number that is nobody's; then all is the same but the message.
        subject: the account that asks, which is limited too. Raises TooManyTries within a minute
        of the last code, and after several of them.
        """
        self._requests.check()
        self._refuse_early(phone, purpose)
        if subject:
            self._sends.take(f"by {subject}")
        self._sends.take(phone)
        self._requests.count()
        code = f"{secrets.randbelow(10**DIGITS):0{DIGITS}}"
        nonce = secrets.token_bytes(16)
        values = {
            "browser": hashlib.sha256(nonce).digest(),
            "code": self._hash(self._keys[0], phone, purpose, nonce, code),
            "tries_left": TRIES,
            "sent_at": int(time.time()),
        }
        try:
            write(self._db_session, lambda c: self._store(c, phone, purpose, values))
        except IntegrityError:  # two first codes at once: the later one lives
            write(self._db_session, lambda c: self._store(c, phone, purpose, values))
        session[FIELD] = [phone, purpose, nonce.hex(), int(time.time()), subject]
        if deliver:
            self._send_text(phone, text.replace("{code}", code))

    def requested(self, purpose: str, subject: str = "") -> str | None:
        """The number this browser, and this account, asked for a code for a while ago."""
        kept: Any = session.get(FIELD)
        if kept is None or (kept[1], kept[4]) != (purpose, subject):
            return None
        # Some minutes longer than the code lives: whoever is late is told so.
        return str(kept[0]) if time.time() - kept[3] <= 2 * LIFETIME else None

    def check(self, purpose: str, code: str, subject: str = "") -> str | None:
        """The number whose code this browser entered rightly; uses the code up.

        Every try is counted before the code is looked at.
        """
        phone = self.requested(purpose, subject)
        if phone is None:
            return None
        nonce = bytes.fromhex(session[FIELD][2])
        stored = write(self._db_session, lambda c: self._take_try(c, phone, purpose, nonce))
        given = code.replace(" ", "")
        if stored is None or not any(
            hmac.compare_digest(stored, self._hash(key, phone, purpose, nonce, given))
            for key in self._keys
        ):
            self._failures.count("phone code", subject or None)
            return None
        # The row decides who of two with the right code was first.
        used = write(self._db_session, lambda c: self._delete(c, phone, purpose, stored))
        if not used:
            return None
        session.pop(FIELD, None)
        self._sends.forgive(phone)
        return str(phone)

    def _refuse_early(self, phone: str, purpose: str) -> None:
        table = self._table.c
        sent_at = (
            self._db_session.connection()
            .execute(select(table.sent_at).where(table.phone == phone, table.purpose == purpose))
            .scalar()
        )
        if sent_at is not None and 0 <= time.time() - sent_at < RESEND_AFTER:
            raise TooManyTries(max(1, math.ceil(sent_at + RESEND_AFTER - time.time())))

    def _store(
        self, connection: Connection, phone: str, purpose: str, values: dict[str, Any]
    ) -> None:
        table = self._table
        replaced = connection.execute(
            update(table).where(table.c.phone == phone, table.c.purpose == purpose).values(values)
        )
        if not replaced.rowcount:
            connection.execute(insert(table).values({"phone": phone, "purpose": purpose, **values}))

    def _take_try(
        self, connection: Connection, phone: str, purpose: str, nonce: bytes
    ) -> bytes | None:
        table = self._table
        ours = (
            table.c.phone == phone,
            table.c.purpose == purpose,
            table.c.browser == hashlib.sha256(nonce).digest(),
        )
        counted = connection.execute(
            update(table)
            .where(*ours, table.c.tries_left > 0, table.c.sent_at > int(time.time()) - LIFETIME)
            .values(tries_left=table.c.tries_left - 1)
        )
        if not counted.rowcount:
            return None
        return connection.execute(select(table.c.code).where(*ours)).scalar()

    def _delete(self, connection: Connection, phone: str, purpose: str, stored: bytes) -> int:
        table = self._table
        gone = connection.execute(
            delete(table).where(
                table.c.phone == phone, table.c.purpose == purpose, table.c.code == stored
            )
        )
        return int(gone.rowcount)

    @staticmethod
    def _hash(key: bytes, phone: str, purpose: str, nonce: bytes, code: str) -> bytes:
        text = f"{phone}\0{purpose}\0{nonce.hex()}\0{code}".encode("utf-8", "surrogatepass")
        return hmac.digest(key, text, "sha256")
