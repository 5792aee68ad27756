"""idsync: an embeddable identity provider for Flask.

This package is the public face; everything else is private by convention. Names are loaded when
first used (PEP 562), so that `idsync.consumer` can be imported where Flask is not installed.
Start reading in `idsync.extension`, where the parts meet an application.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from idsync.accounts.change import Change
    from idsync.accounts.rules import SHORTEST_PASSWORD
    from idsync.accounts.transfer.files import safe_cell
    from idsync.administration.console import Console
    from idsync.administration.person import ErasedPerson, Person
    from idsync.administration.registrations import ApplicationTerms, RegisteredApplication
    from idsync.audit.values import Actor, Event
    from idsync.errors import (
        AdministratorRequired,
        ConfigurationError,
        IdSyncError,
        InvalidValue,
        RecentSignInRequired,
        SecondFactorRequired,
        ServiceUnavailable,
        TooManyTries,
        UnknownRecord,
    )
    from idsync.extension import IdSync
    from idsync.settings import Settings

_HOMES = {
    "Actor": "idsync.audit.values",
    "ApplicationTerms": "idsync.administration.registrations",
    "Change": "idsync.accounts.change",
    "Console": "idsync.administration.console",
    "ErasedPerson": "idsync.administration.person",
    "Event": "idsync.audit.values",
    "IdSync": "idsync.extension",
    "SHORTEST_PASSWORD": "idsync.accounts.rules",
    "Person": "idsync.administration.person",
    "RegisteredApplication": "idsync.administration.registrations",
    "Settings": "idsync.settings",
    "IdSyncError": "idsync.errors",
    "ConfigurationError": "idsync.errors",
    "InvalidValue": "idsync.errors",
    "AdministratorRequired": "idsync.errors",
    "RecentSignInRequired": "idsync.errors",
    "SecondFactorRequired": "idsync.errors",
    "TooManyTries": "idsync.errors",
    "UnknownRecord": "idsync.errors",
    "ServiceUnavailable": "idsync.errors",
    "safe_cell": "idsync.accounts.transfer.files",
}

__all__ = [
    "SHORTEST_PASSWORD",
    "Actor",
    "AdministratorRequired",
    "ApplicationTerms",
    "Change",
    "ConfigurationError",
    "Console",
    "ErasedPerson",
    "Event",
    "IdSync",
    "IdSyncError",
    "InvalidValue",
    "Person",
    "RecentSignInRequired",
    "RegisteredApplication",
    "SecondFactorRequired",
    "ServiceUnavailable",
    "Settings",
    "TooManyTries",
    "UnknownRecord",
    "safe_cell",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
