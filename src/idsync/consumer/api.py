"""`AccountsApi`: the account API of an identity service as functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from idsync.consumer.account import Account, checked_text, read_account
from idsync.consumer.decoding import members
from idsync.consumer.errors import NoSuchAccount, UnreadableAnswer
from idsync.consumer.transport import Call, Limits, Transport

ACCOUNTS = "/api/service/accounts"
SERVICES = "/api/services"

# A change is one request of a person who waits for its answer.
CHANGE = Limits(whole=60)


class Unset:
    """The one value `UNSET`: a field that is left as it is. (None clears an e-mail address.)"""


UNSET = Unset()


@dataclass(frozen=True, slots=True)
class Removed:
    """This account is erased, or does not have the tag any more."""

    id: str


@dataclass(frozen=True, slots=True)
class Created:
    """A creation's outcome. `account.id` is the id to use, also where the person existed."""

    existed: bool
    account: Account


@dataclass(frozen=True, slots=True)
class Service:
    """A first-party service and the tag that gives access to it."""

    tag: str
    name: str


class AccountList:
    """An answer with accounts, to be iterated once while the connection stands.

    `cursor` and `complete` are known only at the end, because they come last: if `complete`, the
    list is everybody and replaces a copy; else it is what changed.
    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._members = members(pieces, ("accounts", "removed"))
        self._end: dict[str, Any] = {}

    def __iter__(self) -> Iterator[Account | Removed]:
        """Accounts and ids of removed ones. Raises UnreadableAnswer or ServiceAway on the way."""
        for name, value in self._members:
            if name not in ("accounts", "removed"):
                self._end[name] = value
            elif name not in self._end:
                self._end[name] = True
            elif name == "accounts":
                yield read_account(value)
            else:
                yield Removed(checked_text(value, "removed"))
        if "accounts" not in self._end:
            raise UnreadableAnswer("The answer has no accounts.")
        if not self.complete and "removed" not in self._end:
            raise UnreadableAnswer("The answer has changes, but does not say who was removed.")
        checked_text(self.cursor, "cursor")

    @property
    def cursor(self) -> str:
        """Where the next list goes on."""
        return checked_text(self._known("cursor"), "cursor")

    @property
    def complete(self) -> bool:
        """Whether this list is everybody."""
        complete = self._known("complete")
        if not isinstance(complete, bool):
            raise UnreadableAnswer("complete in the answer is neither true nor false.")
        return complete

    def _known(self, name: str) -> Any:
        try:
            return self._end[name]
        except KeyError:
            raise UnreadableAnswer(f"The answer has no {name}.") from None


class AccountsApi:
    """The account API, called as one application that has the right `accounts`.

    base_url: of the identity service, as "https://id.example.org". All methods raise
    CredentialsRefused, Busy, ServiceAway and UnreadableAnswer. Requests are tried again by
    themselves where that cannot do anything twice.
    """

    def __init__(
        self, base_url: str, client_id: str, client_secret: str, *, limits: Limits | None = None
    ) -> None:
        self._transport = Transport(base_url, client_id, client_secret)
        self._limits = limits or Limits()

    @contextmanager
    def accounts(
        self, tag: str | None = None, since: str | None = None, *, limits: Limits | None = None
    ) -> Iterator[AccountList]:
        """Accounts with this tag, or all; with `since`, a list's cursor, what changed after it."""
        query = {"tag": tag, "since": since}
        call = Call(
            "GET",
            ACCOUNTS,
            {name: value for name, value in query.items() if value is not None},
            repeatable=True,
        )
        try:
            with self._transport.open(call, limits or self._limits) as pieces:
                yield AccountList(pieces)
        except NoSuchAccount:
            raise UnreadableAnswer(
                "There is no account API at this address; check the address."
            ) from None

    def create(
        self,
        name: str,
        email: str | None = None,
        password: str | None = None,
        tags: Iterable[str] = (),
        *,
        id: str | None = None,
    ) -> Created:
        """Create an account, or add the tags to the one with this e-mail address.

        password: an exchange hash. Raises ValueRefused besides.
        """
        body: dict[str, Any] = {"name": name, "email": email, "password": password}
        body["tags"] = list(tags)
        if id is not None:
            body["id"] = id
        answer = self._transport.json(Call("POST", ACCOUNTS, {}, body), CHANGE)
        if not isinstance(answer, dict) or not isinstance(answer.get("existed"), bool):
            raise UnreadableAnswer("The answer does not say whether the account existed.")
        return Created(answer["existed"], read_account(answer.get("account")))

    def change(
        self,
        id: str,
        *,
        name: str | Unset = UNSET,
        email: str | Unset | None = UNSET,
        password: str | Unset = UNSET,
        tags_add: Iterable[str] = (),
        tags_remove: Iterable[str] = (),
        disabled: bool | Unset = UNSET,
    ) -> Account:
        """Change an account and give the whole of it.

        password: an exchange hash. Raises ValueRefused and NoSuchAccount besides.
        """
        fields = {"name": name, "email": email, "password": password, "disabled": disabled}
        body: dict[str, Any] = {
            field: value for field, value in fields.items() if not isinstance(value, Unset)
        }
        body["tags_add"], body["tags_remove"] = list(tags_add), list(tags_remove)
        call = Call("POST", f"{ACCOUNTS}/{quote(id, safe='')}", {}, body, repeatable=True)
        return read_account(self._transport.json(call, CHANGE))

    def services(self) -> list[Service]:
        """The first-party services and their tags."""
        answer = self._transport.json(Call("GET", SERVICES, {}, repeatable=True), CHANGE)
        services = answer.get("services") if isinstance(answer, dict) else None
        if not isinstance(services, list):
            raise UnreadableAnswer("The answer has no list of services.")
        return [
            Service(checked_text(one["tag"], "tag"), checked_text(one["name"], "name"))
            for one in services
            if isinstance(one, dict) and {"tag", "name"} <= one.keys()
        ]
