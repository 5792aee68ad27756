"""The second factor: turning it on and off, and the second step of a sign-in.

An account has `mfa` while it has a confirmed authenticator app or a passkey. Whoever signs in by a
first factor alone is then not signed in (`browser.py`); `complete` makes the second step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyotp

from idsync.accounts.directory import Directory
from idsync.accounts.record import AccountRecord
from idsync.audit.events import Actor, Audit
from idsync.crypto import identifiers
from idsync.database import DatabaseSession
from idsync.signin import first_step
from idsync.signin.browser import BrowserSessions
from idsync.signin.devices import Devices
from idsync.signin.failures import Failures
from idsync.signin.limits import TryLimit
from idsync.signin.passkeys import CONFIRM, Passkeys
from idsync.signin.recovery import RecoveryCodes
from idsync.signin.sessions import SECOND_FACTOR, SignedIn
from idsync.signin.totp import DIGITS, Totp

BY_CODE = ("otp", SECOND_FACTOR)
"""What a one-time code adds to a session's `amr` (RFC 8176 §2)."""


@dataclass(frozen=True, slots=True)
class Factors:
    """What an account has besides its password. recovery_codes: how many are left."""

    app: bool
    passkeys: int
    recovery_codes: int

    def __bool__(self) -> bool:
        """Whether there is a second factor."""
        return self.app or self.passkeys > 0


@dataclass(frozen=True, slots=True)
class NewApp:
    """What an authenticator app needs: the secret in base32, and as an otpauth: address."""

    secret: str = field(repr=False)
    address: str = field(repr=False)


class SecondFactors:
    """Second factors of the person at the browser. Every method commits what it changed."""

    def __init__(
        self,
        session: DatabaseSession,
        directory: Directory,
        browser: BrowserSessions,
        audit: Audit,
        totp: Totp,
        recovery: RecoveryCodes,
        passkeys: Passkeys,
        tries: TryLimit,
        addresses: Failures,
        devices: Devices,
        issuer_name: Callable[[], str],
    ) -> None:
        self._session = session
        self._directory = directory
        self._browser = browser
        self._audit = audit
        self._totp = totp
        self._recovery = recovery
        self._passkeys = passkeys
        self._tries = tries
        self._addresses = addresses
        self._devices = devices
        self._issuer_name = issuer_name

    # --- the second step of a sign-in ----------------------------------------------------------

    def awaited(self) -> bool:
        """Whether this browser made the first step, and the second one may follow."""
        return first_step.kept() is not None

    def complete(self, code: str) -> bool:
        """Sign the person in whose first step this browser made, if the code is right.

        `code` comes from the authenticator app or is a recovery code. False also where the
        password was changed or the account disabled since. Raises TooManyTries.
        """
        first = first_step.kept()
        found = None if first is None else self._directory.find(first.subject)
        if first is None or found is None or not self._check(found.key, found.subject, code):
            return False
        user = self._directory.user_by_key(found.key)
        return user is not None and self._browser.sign_in(
            user, (*first.amr, *BY_CODE), epoch=first.epoch
        )

    # --- one's own factors ---------------------------------------------------------------------

    def of(self, user: Any) -> Factors:
        """What the user has."""
        return self.of_key(self._directory.ensure_record(user).account_key)

    def begin_app(self, user: Any) -> None:
        """Make the secret for a new authenticator app. Raises RecentSignInRequired."""
        _, record = self._browser.locked(user)
        self._totp.begin(record)
        self._session.commit()

    def new_app(self, user: Any) -> NewApp | None:
        """The authenticator app that waits for its first code. Raises RecentSignInRequired."""
        self._browser.require_recent(user)
        secret = self._totp.unconfirmed(self._directory.ensure_record(user).account_key)
        if secret is None:
            return None
        name = user.email or user.name
        address = pyotp.TOTP(secret).provisioning_uri(name=name, issuer_name=self._issuer_name())
        return NewApp(secret, address)

    def confirm_app(self, user: Any, code: str) -> list[str] | None:
        """Turn the new app on with its first code.

        New recovery codes, to be shown once, where there were none; None for a wrong code. This
        browser stays signed in, by both factors now; others must sign in again. Raises
        RecentSignInRequired, TooManyTries.
        """
        account = self._browser.require_recent(user).account
        self._take(account.subject)
        made = self.recovery_codes_if_none(account.key)
        signed_in, record = self._browser.locked(user)
        if not self._totp.confirm(record.account_key, _digits(code)):
            self._refused(account.subject)
            return None
        self._forgive(record.subject)
        return self.added(signed_in, record, "app", BY_CODE, made)

    def remove_app(self, user: Any, *, code: str = "", answer: str = "") -> bool:
        """Forget the app, after a code, or a passkey's answer, proved it is still the owner.

        Raises RecentSignInRequired, TooManyTries.
        """
        if not self.confirm(user, code=code, answer=answer):
            return False
        _, record = self._browser.locked(user)
        self._totp.remove(record.account_key)
        self.removed(record, "app")
        return True

    def renew_recovery_codes(
        self, user: Any, *, code: str = "", answer: str = ""
    ) -> list[str] | None:
        """Ten new recovery codes, to be shown once, after a proof as for `remove_app`."""
        if not self.confirm(user, code=code, answer=answer):
            return None
        made = self._recovery.make()
        _, record = self._browser.locked(user)
        codes = self._recovery.replace(record.account_key, made)
        self._record("recovery codes made", record)
        self._session.commit()
        return codes

    def confirm(self, user: Any, *, code: str = "", answer: str = "") -> bool:
        """Whether a code, or the answer of one of the user's passkeys, is right; uses it up.

        Commits. Raises RecentSignInRequired, TooManyTries.
        """
        account = self._browser.require_recent(user).account
        if code:
            return self._check(account.key, account.subject, code)
        asserted = self._passkeys.check(CONFIRM, answer, alone=False)
        if asserted is None or asserted.account_key != account.key:
            self._refused(account.subject)
            return False
        self._session.commit()
        return True

    def reset(self, subject: str, *, actor: Actor) -> None:
        """Take all second factors from an account whose owner lost them, and sign it out.

        The caller commits. Raises UnknownRecord.
        """
        record = self._directory.record(subject)
        self._totp.remove(record.account_key)
        self._recovery.remove(record.account_key)
        self._passkeys.remove_all(record.account_key)
        record.mfa = False
        record.epoch = identifiers.new_epoch()
        self._tries.forgive(subject)
        self._session.flush()
        self._audit.record("second factors reset", actor, subject=subject)

    # --- for other kinds of factors ------------------------------------------------------------

    def of_key(self, account_key: Any) -> Factors:
        """What the account with this key has."""
        return Factors(
            self._totp.is_on(account_key),
            len(self._passkeys.of(account_key)),
            self._recovery.left(account_key),
        )

    def recovery_codes_if_none(self, account_key: Any) -> dict[str, str] | None:
        """Recovery codes for somebody who has none, made before the account is locked."""
        return None if self._recovery.left(account_key) else self._recovery.make()

    def added(
        self,
        signed_in: SignedIn,
        record: AccountRecord,
        kind: str,
        amr: tuple[str, ...],
        made: dict[str, str] | None,
    ) -> list[str]:
        """A factor of a locked account was added at this browser, which proved it; commits."""
        codes = []
        if not self._recovery.left(record.account_key):
            # They may have gone, with the last factor, after somebody looked whether to make some.
            codes = self._recovery.replace(record.account_key, made or self._recovery.make())
        record.mfa = True
        self._browser.upgrade(signed_in, amr)
        self._record("second factor added", record, factor=kind)
        self._session.commit()
        return codes

    def removed(self, record: AccountRecord, kind: str) -> None:
        """A factor of a locked account was removed; commits. Recovery codes go with the last."""
        if not self.of_key(record.account_key):
            self._recovery.remove(record.account_key)
            record.mfa = False
        self._record("second factor removed", record, factor=kind)
        self._session.commit()

    # --- details -------------------------------------------------------------------------------

    def _check(self, account_key: Any, subject: str, code: str) -> bool:
        """Check a code within the limits, use it up and commit."""
        self._take(subject)
        if not self._right(account_key, subject, code):
            self._refused(subject)
            return False
        self._session.commit()
        return True

    def _right(self, account_key: Any, subject: str, code: str) -> bool:
        digits = _digits(code)
        if len(digits) == DIGITS and digits.isascii() and digits.isdigit():
            right = self._totp.check(account_key, digits)
        else:
            right = self._recovery.check(account_key, code)
            if right:
                self._audit.record(
                    "recovery code used",
                    Actor("person", subject),
                    subject=subject,
                    left=self._recovery.left(account_key),
                )
        if right:
            self._forgive(subject)
        return right

    def _take(self, subject: str) -> None:
        """Use a try up. A browser that the account knows has tries of its own, as for passwords,
        whatever its neighbours do.
        """
        device = self._devices.name(subject)
        if not device:
            self._addresses.check()
        self._tries.take(_whose(subject, device))

    def _forgive(self, subject: str) -> None:
        self._tries.forgive(_whose(subject, self._devices.name(subject)))

    def _refused(self, subject: str) -> None:
        self._session.rollback()
        self._addresses.count("second factor", subject)

    def _record(self, kind: str, record: AccountRecord, **details: Any) -> None:
        actor = Actor("person", record.subject)
        self._audit.record(kind, actor, subject=record.subject, **details)


def _whose(subject: str, device: str) -> str:
    return f"{subject} {device}".rstrip()


def _digits(code: str) -> str:
    """A code as an app shows it, without the space that it may show in the middle."""
    return code.replace(" ", "")
