"""Signing in with a password: how often it may be tried, and whether it is right."""

from __future__ import annotations

from typing import Any

from idsync.accounts.directory import Directory
from idsync.accounts.passwords import AccountPasswords, Verified
from idsync.accounts.record import AccountModels, AccountRecord
from idsync.accounts.rules import email_key
from idsync.signin import first_step
from idsync.signin.devices import Devices
from idsync.signin.failures import Failures
from idsync.signin.limits import TryLimit


class PasswordSignIn:
    """Checks passwords within the limits."""

    def __init__(
        self,
        models: AccountModels,
        directory: Directory,
        passwords: AccountPasswords,
        tries: TryLimit,
        addresses: Failures,
        devices: Devices,
    ) -> None:
        self._models = models
        self._directory = directory
        self._passwords = passwords
        self._tries = tries
        self._addresses = addresses
        self._devices = devices

    def check(self, user: Any | None, plain: str, login: str) -> Verified | None:
        """Whether a password is right, and the epoch read with it.

        The try is taken before the password is looked at, so that tries at the same moment count
        as well. Unknown people, told apart by what was typed, run into the same limit. A first step
        that somebody made here before is forgotten. Raises TooManyTries.
        """
        first_step.forget()
        record = None if user is None else self._directory.record_of(user)
        whose, device = self._whose(user, record, login)
        if not device:
            # A known browser has tries of its own, whatever its neighbours do.
            self._addresses.check()
        if whose:
            self._tries.take(whose)
        verified = self._passwords.verify(user, plain, self._directory.ensure_record)
        if verified is None:
            self._addresses.count("password", None if record is None else record.subject)
        else:
            self._tries.forgive(whose)
        return verified

    def forgive(self, subject: str) -> None:
        """Give the tries for an account back, at this browser and at those it does not know."""
        for device in {"", self._devices.name(subject)}:
            self._tries.forgive(f"account {subject} {device}")

    def _whose(self, user: Any | None, record: AccountRecord | None, login: str) -> tuple[str, str]:
        """Whose tries these are, and by which known browser, if any."""
        if user is None:
            return (f"login {email_key(login)}" if login else ""), ""
        if record is None:
            return f"key {self._models.key_of(user)}", ""
        device = self._devices.name(record.subject)
        return f"account {record.subject} {device}", device
