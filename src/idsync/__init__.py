"""idsync: an embeddable identity provider for Flask.

This package is the public face; everything else is private by convention. Names are loaded when
first used (PEP 562), so that `idsync.consumer` can be imported where Flask is not installed.
Start reading in `idsync.extension`, where the parts meet an application.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from idsync.errors import (
        ConfigurationError,
        IdSyncError,
        InvalidValue,
        RecentSignInRequired,
        ServiceUnavailable,
        TooManyTries,
        UnknownRecord,
    )
    from idsync.extension import IdSync
    from idsync.settings import Settings

_HOMES = {
    "IdSync": "idsync.extension",
    "Settings": "idsync.settings",
    "IdSyncError": "idsync.errors",
    "ConfigurationError": "idsync.errors",
    "InvalidValue": "idsync.errors",
    "RecentSignInRequired": "idsync.errors",
    "TooManyTries": "idsync.errors",
    "UnknownRecord": "idsync.errors",
    "ServiceUnavailable": "idsync.errors",
}

__all__ = [
    "ConfigurationError",
    "IdSync",
    "IdSyncError",
    "InvalidValue",
    "RecentSignInRequired",
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
