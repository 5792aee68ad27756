"""A list is written in the same memory whatever its length."""

import tracemalloc

import pytest

from account_api.calling import ACCOUNTS, Service
from account_api.many import fill
from idsync.account_api.cursor import Cursor, read_cursor

MANY = 6_000


def peak(service: Service, **query: str) -> int:
    """The most bytes that Python held while it wrote a list and sent it in pieces."""
    program = service.app.test_client()
    tracemalloc.start()
    with program.get(
        ACCOUNTS, query_string=query, auth=service.client.basic, buffered=False
    ) as answer:
        length = sum(len(piece) for piece in answer.iter_encoded())
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert length == answer.content_length > MANY * len("0" * 32)
    return most


def test_the_length_of_a_list_does_not_matter(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of a whole one, nor of one that removes everybody."""
    monkeypatch.setattr("idsync.accounts.listing.CHUNK", 100)
    monkeypatch.setattr("idsync.account_api.pull.IN_MEMORY", 1 << 15)
    fill(service.app, MANY)
    service.list()  # whatever is made once
    queries: list[dict[str, str]] = [
        {},
        {"since": cursor_at(service, 1, None)},
        {"since": cursor_at(service, 1, "nobody's"), "tag": "nobody's"},
    ]
    for query in queries:
        assert peak(service, **query) < 1 << 19, query


def cursor_at(service: Service, revision: int, tag: str | None) -> str:
    """The cursor of a reader who has come so far."""
    query = {} if tag is None else {"tag": tag}
    now = read_cursor(service.list(**query).json["cursor"])
    assert now is not None
    return str(Cursor(now.incarnation, revision, now.shape))
