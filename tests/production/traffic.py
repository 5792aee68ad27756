"""Applications, people and services at work, and a book of what they saw.

Nothing here needs pytest. Each visitor checks what an answer promised: a token that was answered
works, none works twice, a change that was answered is there.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests

import hosting

TIMEOUT = 30  # seconds
GRACE = 3
"""Seconds after something is back during which errors still belong to it."""

GONE = (502, 503, 504)
"""Status of an answer that says nothing about whether the request was carried out."""

NO_ANSWER = (
    requests.ConnectionError,
    requests.Timeout,
    requests.exceptions.ChunkedEncodingError,
)


@dataclass
class Book:
    """Requests and errors by kind, when something was down, and what was wrong."""

    asked: Counter[str] = field(default_factory=Counter)
    errors: list[tuple[float, str, str]] = field(default_factory=list)
    down: list[tuple[float, float, str]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, error: str | None = None) -> None:
        with self._lock:
            self.asked[kind] += 1
            if error is not None:
                self.errors.append((time.monotonic(), kind, error))

    @contextmanager
    def something_is_down(self, what: str) -> Iterator[None]:
        begun = time.monotonic()
        try:
            yield
        finally:
            self.down.append((begun, time.monotonic() + GRACE, what))

    def unexplained(self) -> list[tuple[float, str, str]]:
        """Errors while nothing was down."""
        return [
            (at, kind, error)
            for at, kind, error in self.errors
            if not any(begun <= at <= until for begun, until, _ in self.down)
        ]

    def summary(self) -> str:
        errors = Counter(f"{kind}: {error}" for _, kind, error in self.errors)
        down = [f"{what} {until - begun - GRACE:.1f} s" for begun, until, what in self.down]
        return (
            f"{self.asked.total()} requests {dict(self.asked)}\n"
            f"{len(self.errors)} errors {dict(errors)}\ndown: {', '.join(down)}"
        )


class Visitor:
    """Somebody who asks for things at one address."""

    def __init__(self, book: Book, url: str, certificate: Path, client: hosting.Client, seed: int):
        self.book, self.url, self.certificate = book, url, str(certificate)
        self.client, self.seed, self.random = client, seed, Random(seed)  # noqa: S311
        self.saw: Counter[str] = Counter()

    def ask(
        self, kind: str, method: str, path: str, *, browser: Any = requests, **options: Any
    ) -> requests.Response | None:
        """The answer; None where there was none, or one that says nothing."""
        options |= {"verify": self.certificate, "timeout": TIMEOUT, "allow_redirects": False}
        try:
            answer: requests.Response = browser.request(method, self.url + path, **options)
        except NO_ANSWER:
            self.book.note(kind, "no answer")
            return None
        if answer.status_code in GONE:
            self.book.note(kind, str(answer.status_code))
            return None
        self.book.note(kind)
        return answer


class Application(Visitor):
    """Signs a person in and refreshes their tokens."""

    def __init__(self, person: hosting.Person, *place: Any) -> None:
        super().__init__(*place)
        self.person = person
        self.token: str | None = None

    def step(self) -> None:
        """Sign in where there is no token, else refresh it."""
        chance = self.random.random()
        if self.token is None or chance < 0.05:
            self.connect()
        elif chance < 0.15:
            self.race()
        else:
            self.refresh()

    def connect(self) -> None:
        """A whole sign-in; given up where an answer is missing, as a person would."""
        self.token = None
        with requests.Session() as browser:
            address = self._to_the_application(browser)
        if address is None:
            return
        form = {
            "grant_type": "authorization_code",
            "code": parse_qs(urlsplit(address).query).get("code", [""])[0],
            "redirect_uri": self.client.redirect_uri,
        }
        redeemed = self._token(form)
        if redeemed is None:
            return
        if redeemed.status_code != 200:
            self.book.wrong.append(f"a fresh code was refused: {redeemed.text}")
            return
        self.saw["signed in"] += 1
        self.token = redeemed.json()["refresh_token"]
        bearer = {"Authorization": f"Bearer {redeemed.json()['access_token']}"}
        told = self.ask("userinfo", "GET", "/oauth/userinfo", headers=bearer)
        if told is not None and told.status_code != 200:
            self.book.wrong.append(f"a fresh access token was refused: {told.text}")

    def refresh(self) -> None:
        """Once more with the same token where nothing was answered, as applications do."""
        asked = 1
        while (answer := self.present()) is None:
            asked += 1
            time.sleep(0.2)
        if answer.status_code == 200:
            self.saw["refreshed"] += 1
            self.token = answer.json()["refresh_token"]
            return
        # Only where the first answer was lost may the token be used up.
        if asked == 1:
            self.book.wrong.append(f"an answered token was lost: {answer.text}")
        self.saw["used up by a lost answer"] += 1
        self.token = None

    def race(self) -> None:
        """The same token twice at once, at whichever hosts: it works once."""
        with ThreadPoolExecutor(2) as threads:
            answers = [one.result() for one in [threads.submit(self.present) for _ in range(2)]]
        self.token = None
        self.saw["raced"] += 1
        worked = [one for one in answers if one is not None and one.status_code == 200]
        if len(worked) > 1:
            self.book.wrong.append("a refresh token worked twice")
        if not worked and None not in answers:
            self.book.wrong.append("a refresh token that was presented twice did not work at all")

    def present(self) -> requests.Response | None:
        return self._token({"grant_type": "refresh_token", "refresh_token": self.token or ""})

    def _token(self, form: dict[str, str]) -> requests.Response | None:
        auth = self.client.basic
        return self.ask(form["grant_type"], "POST", "/oauth/token", data=form, auth=auth)

    def _to_the_application(self, browser: requests.Session) -> str | None:
        path = hosting.authorize_path(self.client)
        for _ in range(8):
            answer = self.ask("page", "GET", path, browser=browser)
            if answer is not None and 'name="password"' in answer.text:
                fields = {"email": self.person.email, "password": self.person.password}
                form = {**hosting.hidden_fields(answer.text), **fields}
                referer = {"Referer": self.url + path}
                answer = self.ask(
                    "sign-in", "POST", path, browser=browser, data=form, headers=referer
                )
            if answer is None:
                return None
            path = answer.headers.get("Location", "")
            if path.startswith(self.client.redirect_uri):
                return path
            if not path.startswith("/"):
                break
        self.book.wrong.append(f"a sign-in led to {answer.status_code} {path}")
        return None


class Service(Visitor):
    """Makes accounts, changes them, and follows what changed. names: what it was promised."""

    def __init__(self, *place: Any) -> None:
        super().__init__(*place)
        self.number, self.cursor = 0, ""
        self.names: dict[str, set[str]] = {}

    def step(self) -> None:
        self.number += 1
        chance, names = self.random.random(), self.names
        if not names or chance < 0.3:
            self._create(names)
        elif chance < 0.7:
            self._change(names)
        else:
            self._pull()

    def _create(self, names: dict[str, set[str]]) -> None:
        own_id, name = f"s{self.seed}-{self.number}", f"Name {self.number}"
        answer = self._post("create", "", {"id": own_id, "name": name, "email": None})
        if answer is not None and answer.status_code == 201:
            names[own_id] = {name}
        elif answer is not None:
            self.book.wrong.append(f"an account was not made: {answer.text}")

    def _change(self, names: dict[str, set[str]]) -> None:
        own_id, name = self.random.choice(list(names)), f"Name {self.number}"
        answer = self._post("change", f"/{own_id}", {"name": name})
        if answer is None:
            names[own_id].add(name)  # it may have been carried out
        elif answer.status_code == 200:
            names[own_id] = {name}
        else:
            self.book.wrong.append(f"an account was lost: {answer.text}")

    def _pull(self) -> None:
        query = {"since": self.cursor} if self.cursor else {}
        answer = self.ask(
            "pull", "GET", "/api/service/accounts", params=query, auth=self.client.basic
        )
        if answer is not None and answer.status_code == 200:
            self.cursor = answer.json()["cursor"]

    def _post(self, kind: str, path: str, body: dict[str, Any]) -> requests.Response | None:
        address = "/api/service/accounts" + path
        return self.ask(kind, "POST", address, json=body, auth=self.client.basic)


@contextmanager
def at_work(visitors: Sequence[Application | Service]) -> Iterator[None]:
    """Each takes step after step in a thread of its own, until the end of the block."""
    stop = threading.Event()

    def work(visitor: Application | Service) -> None:
        try:
            while not stop.is_set():
                visitor.step()
        except Exception as error:
            visitor.book.wrong.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=work, args=(one,)) for one in visitors]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
