"""Signing in with a password: how often it may be tried, and whether it is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
        passwords: AccountPasswords,
        tries: TryLimit,
        addresses: AddressLimit,
        devices: Devices,
    ) -> None:
        self._models = models
        self._passwords = passwords
        self._tries = tries
        self._addresses = addresses
        self._devices = devices

    def check(
        self, user: Any | None, plain: str, login: str, ensure_record: Callable[[Any], object]
    ) -> Verified | None:
        """Whether a password is right, and the epoch read with it.

        The try is taken before the password is looked at, so that tries at the same moment count
        as well. Unknown people, told apart by what was typed, run into the same limit. Raises
        TooManyTries.
        """
        self._addresses.check()
        whose = self._whose(user, login)
        if whose:
            self._tries.take(whose)
        verified = self._passwords.verify(user, plain, ensure_record)
        if verified is None:
            self._addresses.count()
        else:
            self._tries.forgive(whose)
        return verified

    def _whose(self, user: Any | None, login: str) -> str:
        if user is None:
            return f"login {email_key(login)}" if login else ""
        key = self._models.key_of(user)
        return f"account {key} {self._devices.name(key)}"
