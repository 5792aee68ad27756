"""The account API's client, against a service that misbehaves."""

import base64
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from consumer_kit import Asked, FalseService, a_list, an_account, answering
from idsync.consumer import (
    Account,
    AccountsApi,
    Busy,
    ConsumerError,
    CredentialsRefused,
    NoSuchAccount,
    ServiceAway,
    UnreadableAnswer,
    ValueRefused,
)
from idsync.consumer.account import read_account
from idsync.consumer.transport import Limits
from idsync.errors import ConfigurationError

ONCE = Limits(connect=1, read=1, whole=2, attempts=1)


def api_of(service: FalseService, limits: Limits | None = None) -> AccountsApi:
    return AccountsApi(service.url, "app_me", "ids_secret", limits=limits)


def read_all(api: AccountsApi) -> list[Any]:
    with api.accounts("wiki", "c0") as answer:
        return list(answer)


def test_a_list_is_asked_for_as_the_contract_says(false: FalseService) -> None:
    false.answer = answering(200, a_list([an_account(1), an_account(2)], "c9"))
    with api_of(false).accounts("wiki", "c0") as answer:
        accounts = list(answer)
    assert [one.id for one in accounts if isinstance(one, Account)] == ["id-1", "id-2"]
    assert (answer.cursor, answer.complete) == ("c9", True)
    (asked,) = false.asked
    assert asked.path == "/api/service/accounts"
    assert asked.query == {"tag": ["wiki"], "since": ["c0"]}
    assert asked.authorization == "Basic " + base64.b64encode(b"app_me:ids_secret").decode()


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, ValueRefused),
        (401, CredentialsRefused),
        (404, NoSuchAccount),
        (429, Busy),
        (500, ServiceAway),
        (503, ServiceAway),
        (302, UnreadableAnswer),
        (204, UnreadableAnswer),
        (418, UnreadableAnswer),
    ],
)
def test_each_documented_error_has_its_class(
    false: FalseService, status: int, error: type[ConsumerError]
) -> None:
    headers = {"Location": "http://127.0.0.1:1/", "Retry-After": "100"}
    body = b'{"error":"name: is bad"}' if status != 204 else b""
    false.answer = answering(status, body, **headers)
    with pytest.raises(error) as raised:
        api_of(false).change("id-1", name="x")
    assert "ids_secret" not in str(raised.value)
    assert len(false.asked) == 1  # Retry-After is longer than anybody waits
    if status == 400:
        assert str(raised.value) == "name: is bad"
    if status in (429, 503):
        assert raised.value.retry_after == 100  # type: ignore[attr-defined]


def test_what_is_safe_is_tried_again(false: FalseService, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("idsync.consumer.transport.time.sleep", waits.append)
    good = answering(200, a_list([an_account()]))
    false.then(answering(503, Retry_After="2"), answering(429, Retry_After="3"), good)
    assert len(read_all(api_of(false))) == 1
    assert 2 <= waits[0] <= 3 <= waits[1] <= 4.5
    false.asked.clear()
    false.then(answering(500))
    with pytest.raises(ServiceAway):
        read_all(api_of(false))
    assert len(false.asked) == 3


def test_a_creation_is_not_repeated_when_it_may_have_happened(false: FalseService) -> None:
    false.answer = answering(503, Retry_After="0")
    with pytest.raises(ServiceAway) as raised:
        api_of(false).create("Ada")
    assert not raised.value.never_sent
    assert len(false.asked) == 1
    created = b'{"existed":false,"account":%s}' % a_list()
    false.then(answering(429), answering(201, created))
    with pytest.raises(UnreadableAnswer):  # that was a list, no account
        api_of(false).create("Ada")
    assert len(false.asked) == 3


def test_a_refused_connection_is_tried_again_and_known_as_never_sent() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        port = taken.getsockname()[1]
        with pytest.raises(ServiceAway) as raised:
            AccountsApi(f"http://127.0.0.1:{port}", "a", "b").create("Ada")
    assert raised.value.never_sent


def test_silence_and_slowness_end(false: FalseService) -> None:
    over = threading.Event()

    def silent(asked: Asked, handler: BaseHTTPRequestHandler) -> None:
        over.wait(60)

    def dripping(asked: Asked, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not over.wait(0.05):
            handler.wfile.write(b" ")

    for answer in (silent, dripping):
        false.answer = answer
        began = time.monotonic()
        with pytest.raises(ServiceAway):
            read_all(api_of(false, ONCE))
        assert time.monotonic() - began < 30
    over.set()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"{}",
        b'{"accounts":[]}',
        b'{"accounts":[],"cursor":"c"}',
        b'{"accounts":[],"cursor":"c","complete":"yes"}',
        b'{"accounts":[],"cursor":"c","complete":false}',
        b'{"accounts":[],"cursor":"c","complete":false,"removed":[1]}',
        b'{"accounts":[],"cursor":7,"complete":true}',
        b'{"cursor":"c","complete":true}',
        b'{"accounts":[1],"cursor":"c","complete":true}',
        a_list([an_account()])[:-20],
    ],
)
def test_an_answer_that_is_no_list_is_unreadable(false: FalseService, body: bytes) -> None:
    false.answer = answering(200, body)
    with pytest.raises(UnreadableAnswer):
        read_all(api_of(false))


def test_a_broken_connection_is_told(false: FalseService) -> None:
    body = a_list([an_account()])
    false.answer = answering(200, body, len(body) + 100)
    with pytest.raises(ServiceAway):
        read_all(api_of(false))


@pytest.mark.parametrize("name", an_account())
@pytest.mark.parametrize("value", [7, "\ud800", "\0", [7], ..., {}])
def test_an_account_with_a_wrong_or_missing_field_is_unreadable(name: str, value: Any) -> None:
    """A forgotten `mfa` must not read as false."""
    account = an_account()
    if value is ...:
        del account[name]
    else:
        account[name] = value
    with pytest.raises(UnreadableAnswer):
        read_account(account)


def test_fields_we_do_not_know_are_passed_over() -> None:
    assert read_account(an_account(new_field=1)) == read_account(an_account())


@pytest.mark.parametrize(
    "url", ["http://id.example.org", "ftp://x", "id.example.org", "https://a:b@id.org", "https://"]
)
def test_secrets_go_only_to_an_address_that_keeps_them(url: str) -> None:
    with pytest.raises(ConfigurationError):
        AccountsApi(url, "a", "b")


def test_a_password_is_not_shown() -> None:
    shown = repr(read_account(an_account(password="pbkdf2$1$a$b")))
    assert "pbkdf2" not in shown
