"""Signing in with a passkey, alone or as the second step, and a person's own passkeys."""

from __future__ import annotations

from typing import Any

from idsync.accounts.directory import Directory
from idsync.database import DatabaseSession
from idsync.signin import first_step
from idsync.signin.browser import BrowserSessions
from idsync.signin.factors import SecondFactors
from idsync.signin.failures import Failures
from idsync.signin.passkeys import CONFIRM, SIGN_IN, Passkey, Passkeys, amr_of, is_synced
from idsync.signin.sessions import SECOND_FACTOR


class PasskeySignIn:
    """What a host's pages need for passkeys. Every method commits what it changed.

    Options go to the browser, answers come back from it, both as the JSON that
    `PublicKeyCredential` reads and writes (WebAuthn Level 3 §5.1).
    """

    def __init__(
        self,
        session: DatabaseSession,
        directory: Directory,
        browser: BrowserSessions,
        factors: SecondFactors,
        passkeys: Passkeys,
        addresses: Failures,
    ) -> None:
        self._session = session
        self._directory = directory
        self._browser = browser
        self._factors = factors
        self._passkeys = passkeys
        self._addresses = addresses

    # --- signing in ----------------------------------------------------------------------------

    def sign_in_options(self) -> str:
        """Ask for any passkey that the device has for this service."""
        return self._passkeys.request_options(SIGN_IN)

    def sign_in(self, answer: str) -> bool:
        """Sign in whose passkey it is: by two factors, the key and what unlocks it.

        Raises TooManyTries.
        """
        asserted = self._passkeys.check(SIGN_IN, answer, alone=True)
        if asserted is None:
            self._refused("passkey", None)
            return False
        user = self._directory.user_by_key(asserted.account_key)
        amr = (*asserted.amr, SECOND_FACTOR)
        return user is not None and self._browser.sign_in(user, amr)

    def second_step_options(self) -> str | None:
        """Ask for a passkey of the person who made the first step; None where there is none."""
        first = first_step.kept()
        found = None if first is None else self._directory.find(first.subject)
        if first is None or found is None or not self._passkeys.of(found.key):
            return None
        return self._passkeys.request_options(f"{first.subject} {first.at}", found.key)

    def complete(self, answer: str) -> bool:
        """The second step of a sign-in. Raises TooManyTries."""
        first = first_step.kept()
        if first is None:
            return False
        found = self._directory.find(first.subject)
        asserted = self._passkeys.check(f"{first.subject} {first.at}", answer, alone=False)
        if found is None or asserted is None or asserted.account_key != found.key:
            self._refused("second factor", first.subject)
            return False
        user = self._directory.user_by_key(found.key)
        amr = (*first.amr, *asserted.amr, SECOND_FACTOR)
        return user is not None and self._browser.sign_in(user, amr, epoch=first.epoch)

    # --- one's own passkeys --------------------------------------------------------------------

    def of(self, user: Any) -> list[Passkey]:
        """The user's passkeys."""
        return self._passkeys.of(self._directory.ensure_record(user).account_key)

    def creation_options(self, user: Any) -> str:
        """Ask the device to make a passkey. Raises RecentSignInRequired."""
        self._browser.require_recent(user)
        return self._passkeys.creation_options(self._directory.ensure_record(user))

    def add(self, user: Any, answer: str, label: str) -> list[str] | None:
        """Keep a new passkey, which is a second factor from now on.

        New recovery codes, to be shown once, where there were none; None for a wrong answer.
        Raises InvalidValue, RecentSignInRequired.
        """
        account = self._browser.require_recent(user).account
        made = self._passkeys.verified(account.subject, answer)
        if made is None:
            return None
        codes = self._factors.recovery_codes_if_none(account.key)
        signed_in, record = self._browser.locked(user)
        if not self._passkeys.add(record, made, label):
            self._session.rollback()
            return None
        amr = (*amr_of(synced=is_synced(made)), SECOND_FACTOR)
        return self._factors.added(signed_in, record, "passkey", amr, codes)

    def confirm_options(self, user: Any) -> str | None:
        """Ask for one of the user's passkeys before a factor is changed; None where is none."""
        key = self._directory.ensure_record(user).account_key
        return self._passkeys.request_options(CONFIRM, key) if self._passkeys.of(key) else None

    def remove(self, user: Any, passkey_id: str, *, code: str = "", answer: str = "") -> bool:
        """Forget a passkey, after a code, or one of the user's passkeys, was used once more.

        Raises RecentSignInRequired, TooManyTries.
        """
        if not self._factors.confirm(user, code=code, answer=answer):
            return False
        _, record = self._browser.locked(user)
        if not self._passkeys.remove(record.account_key, passkey_id):
            self._session.rollback()
            return False
        self._factors.removed(record, "passkey")
        return True

    def _refused(self, method: str, subject: str | None) -> None:
        """Looked at only now: a passkey cannot be guessed, so the right one signs in always."""
        self._session.rollback()
        self._addresses.check()
        self._addresses.count(method, subject)
