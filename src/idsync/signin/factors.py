"""The second factor: turning it on and off, and the second step of a sign-in.

An account has `mfa` while it has a confirmed authenticator app or a passkey. Whoever signs in by a
first factor alone is then not signed in (`browser.py`); `complete` makes the second step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyotp

from idsync.accounts.directory import Directory
from idsync.accounts.record import AccountRecord
from idsync.audit.events import Actor, Audit
from idsync.crypto import secrets
from idsync.database import DatabaseSession
from idsync.signin import first_step
from idsync.signin.browser import BrowserSessions
from idsync.signin.limits import AddressLimit, TryLimit, visitor_address
from idsync.signin.passkeys import Passkeys
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

    secret: str
    address: str


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
        addresses: AddressLimit,
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
        return self._browser.sign_in(
            self._directory.record(first.subject).user,
            (*first.amr, *BY_CODE),
            epoch=first.epoch,
            remember=first.remember,
        )

    # --- one's own factors ---------------------------------------------------------------------

    def of(self, user: Any) -> Factors:
        """What the user has."""
        return self._factors(self._directory.ensure_record(user).account_key)

    def begin_app(self, user: Any) -> None:
        """Make the secret for a new authenticator app. Raises RecentSignInRequired."""
        self._browser.require_recent(user)
        self._totp.begin(self._locked(user))
        self._session.commit()

    def new_app(self, user: Any) -> NewApp | None:
        """The authenticator app that waits for its first code."""
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
        signed_in = self._browser.require_recent(user)
        record = self._within_limits(user)
        if not self._totp.confirm(record.account_key, _digits(code)):
            self._refused()
            return None
        self._tries.forgive(str(record.account_key))
        return self.added(record, "app", signed_in, BY_CODE)

    def remove_app(self, user: Any, code: str) -> bool:
        """Forget the app; False for a wrong code. Raises as `confirm_app`."""
        self._browser.require_recent(user)
        if not self.confirm(user, code):
            return False
        self._totp.remove(self._directory.ensure_record(user).account_key)
        self.removed(user, "app")
        return True

    def renew_recovery_codes(self, user: Any, code: str) -> list[str] | None:
        """Ten new recovery codes, to be shown once; None for a wrong code. Raises likewise."""
        self._browser.require_recent(user)
        if not self.confirm(user, code):
            return None
        record = self._locked(user)
        codes = self._recovery.renew(record.account_key)
        self._record("recovery codes made", record)
        self._session.commit()
        return codes

    def reset(self, subject: str, *, actor: Actor) -> None:
        """Take all second factors from an account whose owner lost them, and sign it out.

        Raises UnknownRecord.
        """
        record = self._directory.record(subject)
        for kind in (self._totp, self._recovery):
            kind.remove(record.account_key)
        self._passkeys.remove_all(record.account_key)
        record.mfa = False
        record.epoch = secrets.new_epoch()
        self._session.flush()
        self._audit.record("second factors reset", actor, subject=subject)
        self._session.commit()

    # --- for other kinds of factors ------------------------------------------------------------

    def added(
        self, record: AccountRecord, kind: str, signed_in: SignedIn, amr: tuple[str, ...]
    ) -> list[str]:
        """A factor was added at this browser, which proved it just now; commits.

        Returns new recovery codes where there were none.
        """
        none_left = self._recovery.left(record.account_key) == 0
        codes = self._recovery.renew(record.account_key) if none_left else []
        record.mfa = True
        self._record("second factor added", record, factor=kind)
        self._session.commit()
        proven = (*(one for one in signed_in.amr if one not in amr), *amr)
        self._browser.sign_in(record.user, proven, epoch=signed_in.account.epoch)
        return codes

    def removed(self, user: Any, kind: str) -> None:
        """A factor was removed; commits. Recovery codes go with the last one."""
        record = self._locked(user)
        if not self._factors(record.account_key):
            self._recovery.remove(record.account_key)
            record.mfa = False
        self._record("second factor removed", record, factor=kind)
        self._session.commit()

    def confirm(self, user: Any, code: str) -> bool:
        """Whether a code of app or paper is right; uses it up and commits. Raises TooManyTries."""
        record = self._directory.ensure_record(user)
        return self._check(record.account_key, record.subject, code)

    # --- details -------------------------------------------------------------------------------

    def _check(self, account_key: Any, subject: str, code: str) -> bool:
        """Check a code within the limits, use it up and commit."""
        self._take(account_key)
        if not self._right(account_key, subject, code):
            self._refused()
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
                    Actor("person", subject, visitor_address()),
                    subject=subject,
                    left=self._recovery.left(account_key),
                )
        if right:
            self._tries.forgive(str(account_key))
        return right

    def _within_limits(self, user: Any) -> AccountRecord:
        """Take a try, then lock the account: two changes of its factors follow one another."""
        self._take(self._directory.ensure_record(user).account_key)
        return self._locked(user)

    def _take(self, account_key: Any) -> None:
        # By the network address too, or a thief of many passwords could guess at many accounts.
        self._addresses.check()
        self._tries.take(str(account_key))

    def _refused(self) -> None:
        self._session.rollback()
        self._addresses.count()

    def _locked(self, user: Any) -> AccountRecord:
        return self._directory.record(self._directory.ensure_record(user).subject)

    def _factors(self, account_key: Any) -> Factors:
        return Factors(
            self._totp.is_on(account_key),
            len(self._passkeys.of(account_key)),
            self._recovery.left(account_key),
        )

    def _record(self, kind: str, record: AccountRecord, **details: Any) -> None:
        actor = Actor("person", record.subject, visitor_address())
        self._audit.record(kind, actor, subject=record.subject, **details)


def _digits(code: str) -> str:
    """A code as an app shows it, without the space that it may show in the middle."""
    return code.replace(" ", "")
