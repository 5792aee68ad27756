"""Signing in with a password: how often it may be tried, and whether it is right."""

from __future__ import annotations

from typing import Any

from idsync.accounts.directory import Directory
from idsync.accounts.passwords import AccountPasswords, Verified
from idsync.accounts.record import AccountModels
from idsync.accounts.rules import email_key
from idsync.signin.devices import Devices
from idsync.signin.limits import AddressLimit, TryLimit


class PasswordSignIn:
    """Checks passwords within the limits."""

    def __init__(
        self,
        models: AccountModels,
        directory: Directory,
        passwords: AccountPasswords,
        tries: TryLimit,
        addresses: AddressLimit,
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
        as well. Unknown people, told apart by what was typed, run into the same limit. Raises
        TooManyTries.
        """
        whose, device = self._whose(user, login)
        if not device:
            # A known browser has tries of its own, whatever its neighbours do.
            self._addresses.check()
        if whose:
            self._tries.take(whose)
        verified = self._passwords.verify(user, plain, self._directory.ensure_record)
        if verified is None:
            self._addresses.count()
        else:
            self._tries.forgive(whose)
        return verified

    def _whose(self, user: Any | None, login: str) -> tuple[str, str]:
        """Whose tries these are, and by which known browser, if any."""
        if user is None:
            return (f"login {email_key(login)}" if login else ""), ""
        record = self._directory.record_of(user)
        if record is None:
            return f"key {self._models.key_of(user)}", ""
        device = self._devices.name(record.subject)
        return f"account {record.subject} {device}", device
