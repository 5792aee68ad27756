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
    "SHORTEST_PASSWORD": "idsync.accounts.rules",
    "Actor": "idsync.audit.values",
    "AdministratorRequired": "idsync.errors",
    "ApplicationTerms": "idsync.administration.registrations",
    "Change": "idsync.accounts.change",
    "ConfigurationError": "idsync.errors",
    "Console": "idsync.administration.console",
    "ErasedPerson": "idsync.administration.person",
    "Event": "idsync.audit.values",
    "IdSync": "idsync.extension",
    "IdSyncError": "idsync.errors",
    "InvalidValue": "idsync.errors",
    "Person": "idsync.administration.person",
    "RecentSignInRequired": "idsync.errors",
    "RegisteredApplication": "idsync.administration.registrations",
    "SecondFactorRequired": "idsync.errors",
    "ServiceUnavailable": "idsync.errors",
    "Settings": "idsync.settings",
    "TooManyTries": "idsync.errors",
    "UnknownRecord": "idsync.errors",
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
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
