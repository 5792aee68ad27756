"""People in files, as an export writes them. Nothing here needs pytest."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from idsync.accounts.transfer.files import CSV, JSON_LINES, Writer
from idsync.crypto.exchange import ExchangeHash

HASH = str(ExchangeHash.create("correct horse", iterations=10_000))

PEOPLE: list[dict[str, Any]] = [
    {
        "id": "ada-1",
        "name": "=Ada",
        "email": "Ada@example.org",
        "email_verified": True,
        "phone": "+4930123456",
        "tags": ["wiki", "+x"],
        "password": HASH,
    },
    {"id": "bo", "name": '\'t Bo, "the" second', "email": None, "tags": ["a,b"]},
    {"id": "eve", "name": "Ева", "email": "eve@example.org", "disabled": True, "password": HASH},
]
EMPTY = {
    "id": None, "name": "", "email": None, "email_verified": False, "phone": None, "tags": [],
    "disabled": False, "password": None,
}  # fmt: skip


def write_people(path: Path, people: Sequence[dict[str, Any]] | Iterator[dict[str, Any]]) -> None:
    """A file as an export would have written it."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = Writer(file, CSV if path.suffix == ".csv" else JSON_LINES)
        for person in people:
            writer.write({**EMPTY, **person})


def crowd(number: int) -> Iterator[dict[str, Any]]:
    """Half of them without an id, so that only the address tells them again."""
    for index in range(number):
        yield {
            "id": f"person-{index}" if index % 2 else None,
            "name": f"Person {index}",
            "email": f"person{index}@example.org",
            "phone": f"+4930{1_000_000 + index}",
            "tags": ["wiki"],
            "password": HASH,
        }
