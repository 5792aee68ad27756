"""Signing in by phone, and the phone number of an account. A number signs in one account only."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from idsync.accounts.change import Change
from idsync.accounts.directory import Directory
from idsync.accounts.record import AccountModels
from idsync.accounts.rules import checked_phone
from idsync.audit.events import Actor
from idsync.database import DatabaseSession
from idsync.errors import InvalidValue
from idsync.signin import first_step
from idsync.signin.browser import BrowserSessions
from idsync.signin.devices import Devices
from idsync.signin.limits import AddressLimit
from idsync.signin.phone import CHANGE, SIGN_IN, PhoneCodes

AMR = ("sms",)
"""RFC 8176 §2: confirmation by text message to a registered number."""


class PhoneSignIn:
    """What a host's pages need for phone numbers. Every method commits what it changed.

    offered: whether codes can be sent; the console counts on a loopback host only.
    """

    def __init__(
        self,
        session: DatabaseSession,
        models: AccountModels,
        directory: Directory,
        browser: BrowserSessions,
        codes: PhoneCodes,
        addresses: AddressLimit,
        devices: Devices,
        region: str,
        *,
        offered: bool,
    ) -> None:
        self._session = session
        self._models = models
        self._directory = directory
        self._browser = browser
        self._codes = codes
        self._addresses = addresses
        self._devices = devices
        self._region = region
        self.offered = offered

    # --- signing in ----------------------------------------------------------------------------

    def request_code(self, number: str, text: str) -> None:
        """Send a code to a number, if it is somebody's; the caller cannot tell.

        text: the message, with `{code}` in it. Raises InvalidValue for what is no phone number,
        TooManyTries.
        """
        phone = self._checked(number)
        self._codes.request(phone, SIGN_IN, text, deliver=self._account(phone) is not None)

    def requested(self) -> str | None:
        """The number this browser asked a code for, to sign in with."""
        return self._codes.requested(SIGN_IN)

    def sign_in(self, code: str, *, remember: bool = False) -> bool:
        """Sign in whose number it is, if the code is right.

        False also after the first of two steps, and for a disabled account. A first step that
        somebody made here before is forgotten. Raises TooManyTries.
        """
        first_step.forget()
        self._guard()
        phone = self._codes.check(SIGN_IN, code)
        found = None if phone is None else self._account(phone)
        if found is None:
            return False
        user, epoch, _ = found
        return self._browser.sign_in(user, AMR, epoch=epoch, remember=remember)

    # --- one's own number ----------------------------------------------------------------------

    def of(self, user: Any) -> str | None:
        """The user's number."""
        return self._directory.ensure_record(user).phone

    def request_change(self, user: Any, number: str, text: str) -> None:
        """Send a code to a number that is to become the user's.

        Raises InvalidValue, TooManyTries, RecentSignInRequired.
        """
        subject = self._browser.require_recent(user).account.subject
        self._codes.request(self._checked(number), CHANGE, text, subject=subject)

    def requested_change(self, user: Any) -> str | None:
        """The number this browser is about to add to the user's account."""
        return self._codes.requested(CHANGE, self._directory.ensure_record(user).subject)

    def confirm_change(self, user: Any, code: str) -> bool:
        """Make the number the user's if the code is right.

        Raises InvalidValue where it is another account's, TooManyTries, RecentSignInRequired.
        """
        subject = self._browser.require_recent(user).account.subject
        phone = self._codes.check(CHANGE, code, subject)
        if phone is None:
            return False
        self._change(user, phone)
        return True

    def remove(self, user: Any) -> None:
        """Forget the user's number. Raises RecentSignInRequired."""
        self._change(user, None)

    def _checked(self, number: str) -> str:
        if not self.offered:
            raise InvalidValue("phone", "this service sends no messages to phones")
        return checked_phone(number, self._region)

    def _change(self, user: Any, phone: str | None) -> None:
        _, record = self._browser.locked(user)
        subject = record.subject
        self._directory.change(subject, Change(phone=phone), actor=Actor("person", subject))
        self._session.commit()

    def _guard(self) -> None:
        """Refuse an address that failed too often, but at a browser that the account knows."""
        phone = self._codes.requested(SIGN_IN)
        found = None if phone is None else self._account(phone)
        if found is None or not self._devices.name(found[2]):
            self._addresses.check()

    def _account(self, phone: str) -> tuple[Any, bytes, str] | None:
        """Whose number it is, unless disabled; with their subject, and the epoch read with it."""
        account = self._models.table.c
        row = self._session.execute(
            select(self._models.user_class, account.epoch, account.subject)
            .join(self._models.table, account.account_key == self._models.user_key)
            .where(account.phone == phone, account.disabled_by.is_(None))
        ).first()
        return None if row is None else (row[0], row[1], row[2])
