"""One pull, step by step: ask, keep the answer in a temporary file, apply it in one transaction.

The answer is read to its end before the database is touched: a slow identity service holds up no
writer of the service's own, and an answer that is cut off or garbage changes nothing.
"""

from __future__ import annotations

import pickle
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO

from idsync.consumer.account import Account
from idsync.consumer.api import AccountsApi, Removed
from idsync.consumer.store import CopyChange, CopyStore
from idsync.consumer.transport import Limits
from idsync.consumer.values import (
    NOTED_CHANGES,
    CopyState,
    PullReport,
    hash_cost,
    most_common,
)

BATCH = 500
"""Accounts read from and written to the database at a time."""

IN_MEMORY = 1 << 20
"""Bytes of an answer kept in memory; a longer one goes to a file that has no name."""

Progress = Callable[[str, int], None]
"""Called now and then with "received" or "applied" and a number of accounts."""


@dataclass
class Counts:
    """What a pull has done so far."""

    added: int = 0
    changed: int = 0
    removed: int = 0

    def __post_init__(self) -> None:
        self.noted: list[tuple[str, str]] = []
        self.costs: Counter[int] = Counter()

    def note(self, kind: str, ids: Iterable[str]) -> None:
        """Name the first changes."""
        room = NOTED_CHANGES - len(self.noted)
        if room > 0:
            self.noted += [(kind, id) for id in list(ids)[:room]]


class Pulling:
    """A pull of the accounts with `tag`, or of all, into a store."""

    def __init__(
        self,
        api: AccountsApi,
        store: CopyStore,
        *,
        tag: str | None,
        limits: Limits | None,
        progress: Progress | None,
    ) -> None:
        self._api = api
        self._store = store
        self._tag = tag
        self._limits = limits
        self._progress = progress or (lambda step, count: None)

    def run(self, holder: str) -> PullReport:
        """Pull under this claim."""
        started = time.time()
        before = self._store.state()
        # Memory first: answers with a few changes never reach the disk.
        with SpooledTemporaryFile(max_size=IN_MEMORY) as kept:
            with self._api.accounts(self._tag, before.cursor, limits=self._limits) as answer:
                self._keep(answer, kept)
                cursor, complete = answer.cursor, answer.complete
            kept.seek(0)
            with self._store.changing(holder) as change:
                counts = self._apply(kept, change, before.generation + 1, complete=complete)
                report = PullReport(
                    added=counts.added,
                    changed=counts.changed,
                    removed=counts.removed,
                    complete=complete,
                    seconds=time.time() - started,
                    noted=tuple(counts.noted),
                )
                change.finish_pull(
                    cursor=cursor,
                    generation=before.generation + 1,
                    pulled_at=started,
                    costs=_costs(before, counts, complete=complete),
                    report=report,
                )
        return report

    def _keep(self, answer: Iterable[Account | Removed], kept: IO[bytes]) -> None:
        received = 0
        for batch in _batches(answer):
            pickle.dump(batch, kept, pickle.HIGHEST_PROTOCOL)
            received += len(batch)
            self._progress("received", received)

    def _apply(
        self, kept: IO[bytes], change: CopyChange, generation: int, *, complete: bool
    ) -> Counts:
        counts, applied = Counts(), 0
        for batch in _kept(kept):
            # The last word about an id counts.
            accounts = {one.id: one for one in batch if isinstance(one, Account)}
            removed = [one.id for one in batch if isinstance(one, Removed)]
            if accounts:
                written = change.people.write(
                    change.connection, list(accounts.values()), generation
                )
                counts.added += len(written.added)
                counts.changed += len(written.changed)
                counts.note("added", written.added)
                counts.note("changed", written.changed)
                counts.costs.update(
                    cost
                    for one in accounts.values()
                    if (cost := hash_cost(one.password)) is not None
                )
            if removed:
                gone = change.people.remove(change.connection, removed)
                counts.removed += len(gone)
                counts.note("removed", gone)
            applied += len(batch)
            self._progress("applied", applied)
        if complete:
            counts.removed += change.people.remove_older(change.connection, generation)
        return counts


def _costs(before: CopyState, counts: Counts, *, complete: bool) -> dict[int, int]:
    """What checking passwords costs: counted in a whole list, added up from changes."""
    return most_common(counts.costs if complete else Counter(before.costs) + counts.costs)


def _batches(answer: Iterable[Account | Removed]) -> Iterator[list[Account | Removed]]:
    """Batches of one kind each, in the answer's order."""
    batch: list[Account | Removed] = []
    for one in answer:
        if batch and (len(batch) == BATCH or type(one) is not type(batch[0])):
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch


def _kept(file: IO[bytes]) -> Iterator[list[Account | Removed]]:
    while True:
        try:
            yield pickle.load(file)  # noqa: S301 - our own, from a file that nobody else can open
        except EOFError:
            return
