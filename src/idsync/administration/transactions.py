"""What an administrator changes is one transaction, in which they still are one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from idsync.accounts.administrators import Administrators
from idsync.database import DatabaseSession, write
from idsync.signin.sessions import SignedIn

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Transactions:
    """The transactions of one administrator, who was let in before.

    Meanwhile another one may have demoted, disabled or signed them out.
    """

    session: DatabaseSession
    administrators: Administrators
    signed_in: SignedIn

    def confirm(self) -> None:
        """Lock their account, and refuse where the console was closed to them.

        Raises AdministratorRequired, or RecentSignInRequired.
        """
        account = self.signed_in.account
        self.administrators.confirm(account.subject, account.epoch)

    def run(self, work: Callable[[], T]) -> T:
        """Do `work` and commit; again as a whole where others held it up, so it may run twice."""

        def confirmed() -> T:
            self.confirm()
            return work()

        return write(self.session, lambda _: confirmed())
