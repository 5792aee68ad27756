"""For services that keep a local copy of the accounts: the other side of the account API.

Nothing here needs Flask: the standard library, requests and SQLAlchemy, and in `sign_in` Authlib's
client; of ours only `crypto.exchange` and `errors`. Names are loaded when first used (PEP 562).
Start reading in `copy`, which keeps the copy, then `admission`, which decides who may come in.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from idsync.consumer.account import Account
    from idsync.consumer.admission import Admission, Verdict, admit, admit_signed_in
    from idsync.consumer.api import AccountList, AccountsApi, Created, Service
    from idsync.consumer.copy import LocalCopy, Status
    from idsync.consumer.errors import (
        Busy,
        ConsumerError,
        CredentialsRefused,
        NoSuchAccount,
        PullInProgress,
        ServiceAway,
        SignInRefused,
        UnreadableAnswer,
        ValueRefused,
    )
    from idsync.consumer.people import CopiedPeople, People, Written
    from idsync.consumer.sign_in import Arrival, Departure, SignIn
    from idsync.consumer.store import CopyStore, open_store
    from idsync.consumer.transport import Limits
    from idsync.consumer.values import PullReport
    from idsync.crypto.exchange import ExchangeHash

_HOMES = {
    "Account": "account",
    "AccountList": "api",
    "AccountsApi": "api",
    "Admission": "admission",
    "Arrival": "sign_in",
    "Busy": "errors",
    "ConsumerError": "errors",
    "CopiedPeople": "people",
    "CopyStore": "store",
    "Created": "api",
    "CredentialsRefused": "errors",
    "Departure": "sign_in",
    "ExchangeHash": "copy",
    "Limits": "transport",
    "LocalCopy": "copy",
    "NoSuchAccount": "errors",
    "People": "people",
    "PullInProgress": "errors",
    "PullReport": "values",
    "Service": "api",
    "ServiceAway": "errors",
    "SignIn": "sign_in",
    "SignInRefused": "errors",
    "Status": "copy",
    "UnreadableAnswer": "errors",
    "ValueRefused": "errors",
    "Verdict": "admission",
    "Written": "people",
    "admit": "admission",
    "admit_signed_in": "admission",
    "open_store": "store",
}

__all__ = [
    "Account",
    "AccountList",
    "AccountsApi",
    "Admission",
    "Arrival",
    "Busy",
    "ConsumerError",
    "CopiedPeople",
    "CopyStore",
    "Created",
    "CredentialsRefused",
    "Departure",
    "ExchangeHash",
    "Limits",
    "LocalCopy",
    "NoSuchAccount",
    "People",
    "PullInProgress",
    "PullReport",
    "Service",
    "ServiceAway",
    "SignIn",
    "SignInRefused",
    "Status",
    "UnreadableAnswer",
    "ValueRefused",
    "Verdict",
    "Written",
    "admit",
    "admit_signed_in",
    "open_store",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
