"""What the copy remembers about itself: plain values, and the rules about them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

NOTED_CHANGES = 20
"""How many changes a report names; the others are only counted."""

KEPT_COSTS = 16
"""How many different costs of password hashes are remembered."""

LONGEST_NUMBER = 9
"""Digits from which a number of iterations is nonsense."""


@dataclass(frozen=True, slots=True)
class PullReport:
    """What one pull did.

    complete: the identity service sent everybody, not only changes. noted: the first changes, as
    ("added" | "changed" | "removed", id). seconds: how long it took.
    """

    added: int
    changed: int
    removed: int
    complete: bool
    seconds: float
    noted: tuple[tuple[str, str], ...] = ()

    @property
    def nothing_new(self) -> bool:
        """Whether the copy was up to date already."""
        return self.added == self.changed == self.removed == 0

    def __str__(self) -> str:
        kind = "everybody" if self.complete else "changes"
        return (
            f"{kind}: {self.added} added, {self.changed} changed, {self.removed} removed"
            f" in {self.seconds:.1f} s"
        )


@dataclass(frozen=True, slots=True)
class CopyState:
    """The copy's own row.

    cursor, pulled_at: of the last successful pull; pulled_at (seconds since 1970) is when it
    asked, so the copy is at least as fresh as that. holder, held_until: who changes the copy now.
    prompted_at: the last pull after a failed sign-in. costs: how many password hashes came with
    so many iterations. decoy_key: random, never leaves the copy.
    """

    cursor: str | None
    generation: int
    pulled_at: float | None
    prompted_at: float
    holder: str | None
    held_until: float
    costs: Mapping[int, int]
    decoy_key: str
    report: PullReport | None


def report_to_json(report: PullReport) -> str:
    """A report as the copy keeps it."""
    return json.dumps(asdict(report))


def report_from_json(text: str | None) -> PullReport | None:
    """The report that was kept."""
    if text is None:
        return None
    values: dict[str, Any] = json.loads(text)
    values["noted"] = tuple((kind, id) for kind, id in values["noted"])
    return PullReport(**values)


def hash_cost(password: str | None) -> int | None:
    """The iterations of an exchange hash: what checking it costs. None where there is no hash."""
    parts = (password or "").split("$", 2)
    readable = len(parts) == 3 and parts[1].isascii() and parts[1].isdecimal()
    return int(parts[1]) if readable and len(parts[1]) < LONGEST_NUMBER else None


def most_common(costs: Mapping[int, int]) -> dict[int, int]:
    """The costs worth remembering."""
    return dict(sorted(costs.items(), key=lambda item: -item[1])[:KEPT_COSTS])


def costs_to_json(costs: Mapping[int, int]) -> str:
    """Costs as the copy keeps them."""
    return json.dumps(most_common(costs))


def costs_from_json(text: str) -> dict[int, int]:
    """The costs that were kept."""
    return {int(cost): count for cost, count in json.loads(text).items()}
