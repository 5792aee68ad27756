"""The identity service down, slow, garbled, cut off, refusing: the copy stays as it was."""

import logging
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from sqlalchemy.exc import SQLAlchemyError

from consumer_kit import (
    Answer,
    Asked,
    FalseService,
    a_list,
    an_account,
    answering,
    copied,
    opened,
)
from idsync.consumer import (
    AccountsApi,
    Busy,
    ConsumerError,
    CopiedPeople,
    CredentialsRefused,
    LocalCopy,
    ServiceAway,
    UnreadableAnswer,
    Verdict,
    admit,
)
from idsync.consumer.transport import Limits
from idsync.crypto.exchange import ExchangeHash

HASH = str(ExchangeHash.create("pass word", iterations=10_000))
ONCE = Limits(attempts=1)
QUICK = Limits(connect=0.5, read=0.5, whole=1, attempts=1)
GOOD = a_list([an_account(n, password=HASH) for n in range(1, 4)])
# Two thousand people, so that a good part has been read before it breaks.
LONG = a_list([an_account(n, name="Changed") for n in range(2000)], "c2")


def slow(asked: Asked, handler: BaseHTTPRequestHandler) -> None:
    time.sleep(2)


def hangs_up(asked: Asked, handler: BaseHTTPRequestHandler) -> None:
    handler.connection.close()


def dripping(asked: Asked, handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(LONG)))
    handler.end_headers()
    for start in range(0, len(LONG), 2000):
        handler.wfile.write(LONG[start : start + 2000])
        time.sleep(0.02)


FAILURES: list[tuple[Answer, type[ConsumerError]]] = [
    (hangs_up, ServiceAway),
    (slow, ServiceAway),
    (dripping, ServiceAway),
    (answering(500), ServiceAway),
    (answering(401, b'{"error":"invalid_client"}'), CredentialsRefused),
    (answering(429, Retry_After="5"), Busy),
    (answering(404), UnreadableAnswer),
    (answering(302, Location="http://127.0.0.1:1/"), UnreadableAnswer),
    (answering(200, b"<html>a proxy's page</html>"), UnreadableAnswer),
    (answering(200, b"\xff\xfe\x00"), UnreadableAnswer),
    (answering(200, LONG[: len(LONG) // 2]), UnreadableAnswer),
    (answering(200, LONG[: len(LONG) // 2], len(LONG)), ServiceAway),
    (answering(200, LONG[:-2] + b"]"), UnreadableAnswer),
    (answering(200, LONG.replace(b'"mfa": false', b'"mfa": 0')), UnreadableAnswer),
]


@pytest.mark.parametrize(("failure", "error"), FAILURES)
def test_the_copy_stays_and_people_come_in(
    false: FalseService, copy_url: str, failure: Answer, error: type[ConsumerError]
) -> None:
    false.answer = answering(200, GOOD)
    with opened(copy_url) as store:
        copy = LocalCopy(AccountsApi(false.url, "a", "b"), store, service_tag="wiki")
        copy.pull()
        before, state = copied(store), store.state()
        false.answer = failure
        with pytest.raises(error):
            copy.pull(limits=QUICK if failure in (slow, dripping) else ONCE)
        assert copied(store) == before
        assert replace(store.state(), held_until=0) == replace(state, held_until=0)
        assert admit(copy, "person1@example.org", "pass word").verdict is Verdict.ADMITTED
        false.answer = answering(200, a_list([an_account(1, password=HASH)], "c3"))
        copy.pull()
        assert set(copied(store)) == {"id-1"}


def test_an_unreachable_service_leaves_the_copy(false: FalseService, copy_url: str) -> None:
    false.answer = answering(200, GOOD)
    with opened(copy_url) as store:
        LocalCopy(AccountsApi(false.url, "a", "b"), store, service_tag="wiki").pull()
        away = AccountsApi("http://127.0.0.1:1", "a", "b", limits=QUICK)
        copy = LocalCopy(away, store, service_tag="wiki")
        with pytest.raises(ServiceAway):
            copy.pull()
        assert admit(copy, "person1@example.org", "pass word").verdict is Verdict.ADMITTED
        assert admit(copy, "person1@example.org", "wrong").verdict is Verdict.WRONG
        assert len(copied(store)) == 3


def test_a_redirect_gets_no_secret(false: FalseService) -> None:
    """It is not followed: the secret goes to one address only."""
    false.answer = answering(307, Location=false.url + "/elsewhere")
    with pytest.raises(UnreadableAnswer), AccountsApi(false.url, "a", "b").accounts():
        pass
    assert [asked.path for asked in false.asked] == ["/api/service/accounts"]


def test_a_failing_database_leaves_the_copy_and_no_hash_in_the_log(
    false: FalseService,
    copy_url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    false.answer = answering(200, GOOD)
    with opened(copy_url) as store:
        copy = LocalCopy(AccountsApi(false.url, "a", "b"), store, service_tag="wiki")
        copy.pull()
        before = copied(store)
        false.answer = answering(200, LONG)

        def broken(self: CopiedPeople, connection: object, generation: int) -> int:
            raise SQLAlchemyError(f"DELETE … {HASH}")

        monkeypatch.setattr(CopiedPeople, "remove_older", broken)
        with pytest.raises(SQLAlchemyError):
            copy.pull()
        with caplog.at_level(logging.DEBUG, "idsync.consumer"):
            assert admit(copy, "person1@example.org", "wrong").verdict is Verdict.WRONG
        assert "did not succeed" in caplog.text
        assert "pbkdf2" not in caplog.text
        assert copied(store) == before
        assert copy.status().changing is None


def test_a_list_names_somebody_twice(false: FalseService, copy_url: str) -> None:
    """The last word counts, in one batch and over batches."""
    twice = [an_account(1), an_account(1, name="Last"), *(an_account(n) for n in range(2, 800))]
    false.answer = answering(200, a_list([*twice, an_account(2, name="Last")]))
    with opened(copy_url) as store:
        LocalCopy(AccountsApi(false.url, "a", "b"), store, service_tag="wiki").pull()
        assert [copied(store)[f"id-{n}"].name for n in (1, 2)] == ["Last", "Last"]


def test_tables_are_made_once_however_many_begin(copy_url: str) -> None:
    with opened(copy_url) as one, opened(copy_url) as other:
        one.create_tables()
        other.create_tables()
        assert one.state().decoy_key == other.state().decoy_key


def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    """It holds password hashes; so do the files that SQLite puts beside it."""
    with opened(f"sqlite:///{tmp_path / 'copy.sqlite3'}") as store:
        store.count()
        files = list(tmp_path.iterdir())
        assert files
        assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
