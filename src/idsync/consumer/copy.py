"""`LocalCopy`: the accounts in the service's own database, pulled, looked up and changed.

A pull asks what changed since the last one, keeps the answer in a temporary file, and applies it
in one transaction together with the cursor: at whatever point it is killed, the copy is as it was
or as it shall be. Changes go to the identity service first. While one thread of one process
changes the copy nobody else does, so no older answer can overwrite a newer one.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from idsync.consumer.account import Account
from idsync.consumer.api import UNSET, AccountsApi, Created, Unset
from idsync.consumer.claim import claimed
from idsync.consumer.errors import ConsumerError, PullInProgress, describe
from idsync.consumer.pulling import Progress, Pulling
from idsync.consumer.store import CopyStore
from idsync.consumer.transport import Limits
from idsync.consumer.values import PullReport
from idsync.crypto.exchange import DEFAULT_ITERATIONS, ExchangeHash

log = logging.getLogger("idsync.consumer")

EVERY = 120
"""Seconds between pulls; the contract's section 1, rule 2, names a service that does the same."""

LEASE = 3600
"""Seconds without a successful pull after which passwords are not accepted any more."""

PROMPT_INTERVAL = 5
"""Seconds in which at most one failed sign-in causes a pull."""

PROMPT_LIMITS = Limits(connect=2, read=5, whole=10, attempts=1)
"""A person is waiting."""

CLAIM = 30
"""Seconds that a killed process keeps others from changing the copy; a live one renews it."""

PATIENCE = 5
"""Seconds that a change or a failed sign-in waits for a pull that is running."""


@dataclass(frozen=True, slots=True)
class Status:
    """How the copy is. Times in seconds; `pulled_at` since 1970, None before the first pull."""

    accounts: int
    pulled_at: float | None
    lag: float | None
    lease_left: float
    changing: str | None
    report: PullReport | None


class LocalCopy:
    """A service's copy of the accounts.

    service_tag: the tag that gives access to this service. everyone: copy everybody instead of
    those with the tag; then `admit` can tell a person that only the tag is missing. In seconds:
    lease, without a successful pull, after which no password is accepted (an hour);
    prompt_interval, in which at most one failed sign-in causes a pull (5); claim_seconds, for
    which a killed process keeps others from changing the copy (30). salt_encoding: as agreed with
    the identity service (IDSYNC_PBKDF2_SALT). iterations: of the hashes made here (600,000).
    """

    def __init__(
        self,
        api: AccountsApi,
        store: CopyStore,
        *,
        service_tag: str,
        everyone: bool = False,
        lease: float = LEASE,
        prompt_interval: float = PROMPT_INTERVAL,
        claim_seconds: float = CLAIM,
        salt_encoding: str = "text",
        iterations: int = DEFAULT_ITERATIONS,
    ) -> None:
        self.store = store
        self.service_tag = service_tag
        self.lease = lease
        self.salt_encoding = salt_encoding
        self._api = api
        self._everyone = everyone
        self._prompt_interval = prompt_interval
        self._claim_seconds = claim_seconds
        self._iterations = iterations

    # --- following -----------------------------------------------------------------------------

    def pull(
        self,
        *,
        wait: float = 0,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> PullReport:
        """Bring the copy up to date.

        wait: seconds to wait for somebody else's pull to end. Raises PullInProgress, the errors
        of AccountsApi, and SQLAlchemy's; then the copy is as it was.
        """
        with self._claimed(wait) as holder:
            tag = None if self._everyone else self.service_tag
            pulling = Pulling(self._api, self.store, tag=tag, limits=limits, progress=progress)
            return pulling.run(holder)

    def pull_after_failure(self) -> bool:
        """Pull because somebody could not sign in, at most once in a few seconds; True if done."""
        try:
            if not self.store.try_prompt(time.time(), self._prompt_interval):
                return False
            self.pull_for_person()
        except (ConsumerError, SQLAlchemyError) as error:
            log.warning("The pull after a failed sign-in did not succeed: %s", describe(error))
            return False
        return True

    def pull_for_person(self) -> None:
        """Pull because a person waits whom the copy does not know well enough. As for `pull`."""
        self.pull(wait=PATIENCE, limits=PROMPT_LIMITS)

    def run(
        self,
        every: float = EVERY,
        stop: threading.Event | None = None,
        after: Callable[[PullReport | Exception], None] | None = None,
    ) -> None:
        """Pull every so many seconds, a tenth more or less, until `stop` is set.

        after: called with each pull's report or error.
        """
        stop = stop or threading.Event()
        while not stop.is_set():
            outcome: PullReport | Exception
            try:
                outcome = self.pull()
                log.info("Pulled %s", outcome)
            except PullInProgress as error:
                outcome = error
            except (ConsumerError, SQLAlchemyError) as error:
                outcome = error
                log.warning("The pull did not succeed: %s", describe(error))
            if after is not None:
                after(outcome)
            # So that many services do not come at the same second.
            stop.wait(every * random.uniform(0.9, 1.1))  # noqa: S311

    def status(self) -> Status:
        """How fresh the copy is."""
        now, state = time.time(), self.store.state()
        held = state.holder is not None and state.held_until >= now
        return Status(
            accounts=self.store.count(),
            pulled_at=state.pulled_at,
            lag=None if state.pulled_at is None else max(0, now - state.pulled_at),
            lease_left=lease_left(state.pulled_at, now, self.lease),
            changing=state.holder if held else None,
            report=state.report,
        )

    # --- changing ------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        email: str | None = None,
        password: str | ExchangeHash | None = None,
        tags: Iterable[str] = (),
        *,
        id: str | None = None,
    ) -> Created:
        """Create a person with this service's tag and the given ones, or adopt who exists.

        password: plain, hashed here and never sent, or a hash. Raises the errors of
        AccountsApi.create; then nothing is changed.
        """
        digest = None if password is None else self._hashed(password)
        with self._claimed_if_free() as holder:
            all_tags = list(dict.fromkeys([self.service_tag, *tags]))
            created = self._api.create(name, email, digest, all_tags, id=id)
            self._write(holder, created.account)
        return created

    def change(
        self,
        id: str,
        *,
        name: str | Unset = UNSET,
        email: str | Unset | None = UNSET,
        password: str | ExchangeHash | Unset = UNSET,
        tags_add: Iterable[str] = (),
        tags_remove: Iterable[str] = (),
        disabled: bool | Unset = UNSET,
    ) -> Account:
        """Change a person there and here. As for `create`."""
        digest = password if isinstance(password, Unset) else self._hashed(password)
        with self._claimed_if_free() as holder:
            account = self._api.change(
                id,
                name=name,
                email=email,
                password=digest,
                tags_add=tags_add,
                tags_remove=tags_remove,
                disabled=disabled,
            )
            self._write(holder, account)
        return account

    # --- details -------------------------------------------------------------------------------

    def _hashed(self, password: str | ExchangeHash) -> str:
        if isinstance(password, ExchangeHash):
            return str(password)
        made = ExchangeHash.create(
            password, iterations=self._iterations, salt_encoding=self.salt_encoding
        )
        return str(made)

    def _claimed(self, wait: float) -> AbstractContextManager[str]:
        return claimed(self.store, seconds=self._claim_seconds, wait=wait)

    @contextmanager
    def _claimed_if_free(self) -> Iterator[str | None]:
        """The claim, or None while a long pull has it: then the next pull brings the change."""
        with ExitStack() as stack:
            holder = None
            with suppress(PullInProgress):
                holder = stack.enter_context(self._claimed(PATIENCE))
            yield holder

    def _write(self, holder: str | None, account: Account) -> None:
        """Write what the identity service accepted; where that fails, the next pull will."""
        if holder is None:
            return
        try:
            generation = self.store.state().generation
            with self.store.changing(holder) as change:
                if self._everyone or self.service_tag in account.tags:
                    change.people.write(change.connection, [account], generation)
                else:
                    change.people.remove(change.connection, [account.id])
                change.finish()
        except (PullInProgress, SQLAlchemyError) as error:
            log.warning("The copy gets an accepted change with the next pull: %s", describe(error))


def lease_left(pulled_at: float | None, now: float, lease: float) -> float:
    """Seconds that passwords are still accepted; 0 when the copy is too old.

    Also 0 when the last pull seems to lie ahead: nobody knows then how old the copy is.
    """
    if pulled_at is None or pulled_at > now + lease:
        return 0
    return max(0, pulled_at + lease - now)
