"""One request to the identity service: time limits, what is tried again, which error is which.

A request is tried again when that cannot do anything twice: where nothing was sent, where the
service says it did nothing (429), and for requests that may be repeated also after a lost answer.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import HTTPError, NewConnectionError

from idsync.consumer.decoding import LONGEST_VALUE
from idsync.consumer.errors import (
    Busy,
    ConsumerError,
    CredentialsRefused,
    NoSuchAccount,
    ServiceAway,
    UnreadableAnswer,
    ValueRefused,
)
from idsync.errors import ConfigurationError

CHUNK = 1 << 16
LONGEST_ERROR_TEXT = 300  # characters
LONGEST_WAIT = 10.0
"""Seconds that a request waits before it is tried again, whatever Retry-After says."""

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_AWAY = "The identity service cannot be reached"


@dataclass(frozen=True)
class Limits:
    """How long things may take, in seconds, and how often they are tried.

    connect: until a connection stands. read: between two pieces of an answer. whole: a request
    with all of its answer, so that nobody keeps us with a byte a minute.
    """

    connect: float = 5
    read: float = 20
    whole: float = 600
    attempts: int = 3


@dataclass(frozen=True)
class Call:
    """A request to be made. `repeatable` when it does no harm to make it twice."""

    method: str
    path: str
    query: dict[str, str]
    body: Any = None
    repeatable: bool = False


class Transport:
    """Requests to one identity service, as one application."""

    def __init__(self, base_url: str, client_id: str, client_secret: str) -> None:
        self._base_url = checked_base_url(base_url)
        self._auth = (client_id, client_secret)

    @contextmanager
    def open(self, call: Call, limits: Limits) -> Iterator[Iterator[bytes]]:
        """Make the request and give the pieces of a good answer.

        Raises the errors of `idsync.consumer.errors`, also while the pieces are read.
        """
        deadline = time.monotonic() + limits.whole
        # A connection per request: a kept one may turn out to be dead, or shared after a fork.
        with requests.Session() as session:
            response = self._until_answered(session, call, limits, deadline)
            with response:
                yield _pieces(response, deadline)

    def json(self, call: Call, limits: Limits) -> Any:
        """Make the request and give its answer, decoded."""
        with self.open(call, limits) as pieces:
            try:
                return json.loads(_short(pieces))
            except (ValueError, RecursionError):
                raise UnreadableAnswer("The answer is not JSON.") from None

    def _until_answered(
        self, session: requests.Session, call: Call, limits: Limits, deadline: float
    ) -> requests.Response:
        for attempt in range(1, limits.attempts + 1):
            try:
                return self._once(session, call, limits, deadline)
            except (ServiceAway, Busy) as error:
                wait = error.retry_after or 0.25 * 2**attempt
                wait *= random.uniform(1, 1.5)  # noqa: S311 - spreads load, keeps no secret
                if (
                    attempt == limits.attempts
                    or error.retry_after > LONGEST_WAIT
                    or time.monotonic() + wait > deadline
                    or not _may_repeat(call, error)
                ):
                    raise
                time.sleep(wait)
        raise AssertionError("there is at least one attempt")

    def _once(
        self, session: requests.Session, call: Call, limits: Limits, deadline: float
    ) -> requests.Response:
        try:
            response = session.request(
                call.method,
                self._base_url + call.path,
                params=call.query,
                json=call.body,
                auth=self._auth,
                timeout=(limits.connect, limits.read),
                stream=True,
                allow_redirects=False,  # the secret and the hashes go to this address only
            )
        except requests.Timeout as error:
            connecting = isinstance(error, requests.ConnectTimeout)
            raise ServiceAway(f"{_AWAY}: it took too long.", never_sent=connecting) from None
        except requests.ConnectionError as error:
            raise ServiceAway(f"{_AWAY}.", never_sent=_was_refused(error)) from None
        except (requests.RequestException, HTTPError):
            raise UnreadableAnswer("What answered does not speak HTTP.") from None
        if response.status_code in (200, 201):
            return response
        with response:
            raise _error_of(response, deadline)


def checked_base_url(url: str) -> str:
    """An address that may be given a secret: https, or http on this machine."""
    parts = urlsplit(url)
    inside = parts.scheme == "http" and parts.hostname in _LOOPBACK
    if not (parts.scheme == "https" or inside) or not parts.hostname:
        raise ConfigurationError(
            "The address of the identity service must begin with https://"
            " (http:// only on this machine): password hashes travel over it."
        )
    if parts.username is not None or parts.query or parts.fragment:
        raise ConfigurationError(
            "The address of the identity service is a plain address: no credentials, no query."
        )
    return url.rstrip("/")


def _may_repeat(call: Call, error: ServiceAway | Busy) -> bool:
    return call.repeatable or isinstance(error, Busy) or error.never_sent


def _was_refused(error: requests.ConnectionError) -> bool:
    cause = error.args[0] if error.args else None
    return isinstance(getattr(cause, "reason", None), NewConnectionError)


def _pieces(response: requests.Response, deadline: float) -> Iterator[bytes]:
    try:
        # read1 gives what has come; iter_content would wait for a full piece from a slow service.
        while chunk := response.raw.read1(CHUNK, decode_content=True):
            if time.monotonic() > deadline:
                raise ServiceAway("The identity service took too long to answer.")
            yield chunk
    except (HTTPError, OSError):
        raise ServiceAway("The connection broke before the answer's end.") from None


def _short(pieces: Iterator[bytes]) -> bytes:
    whole = b""
    for piece in pieces:
        whole += piece
        if len(whole) > LONGEST_VALUE:
            raise UnreadableAnswer("The answer is too long.")
    return whole


def _error_of(response: requests.Response, deadline: float) -> ConsumerError:
    """The error that a status stands for. The one place."""
    status, said = response.status_code, _said(response, deadline)
    if status == 400:
        return ValueRefused(said or "The identity service refused a value.")
    if status == 401:
        return CredentialsRefused(
            "The identity service refused this application: its id and secret must be right, it"
            " must be active and have the right `accounts`."
        )
    if status == 404:
        return NoSuchAccount(said or "There is nothing at this address.")
    retry_after = _retry_after(response)
    if status == 429:
        return Busy(said or "The identity service asks to wait.", retry_after)
    if status >= 500:
        return ServiceAway(f"The identity service answered {status}.", retry_after)
    return UnreadableAnswer(
        f"The address answered {status}, which an account API does not; check the address."
    )


def _said(response: requests.Response, deadline: float) -> str | None:
    """The text of a refusal, for people; None where there is none."""
    try:
        said = json.loads(_short(_pieces(response, deadline)))["error"]
    except (ConsumerError, ValueError, RecursionError, KeyError, TypeError):
        return None
    printable = isinstance(said, str) and said.isprintable()
    return said[:LONGEST_ERROR_TEXT] if printable else None


def _retry_after(response: requests.Response) -> float:
    given = response.headers.get("Retry-After", "")
    return float(given) if given.isascii() and given.isdecimal() and len(given) < 7 else 0
