"""What an application learns about a person, by scope (OpenID Connect Core §5.4)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

from idsync.accounts.record import Account
from idsync.accounts.rules import roles_of

CLAIMS = ("sub", "name", "roles", "updated_at", "email", "email_verified")


def claims_for(
    account: Account, scopes: Iterable[str], role_map: Mapping[str, str]
) -> dict[str, Any]:
    """The claims of the granted scopes; updated_at in unix seconds."""
    granted = frozenset(scopes)
    claims: dict[str, Any] = {"sub": account.subject}
    if "profile" in granted:
        claims["name"] = account.name
        claims["roles"] = roles_of(account.tags, role_map)
        claims["updated_at"] = int(account.updated_at.replace(tzinfo=dt.UTC).timestamp())
    if "email" in granted and account.email is not None:
        claims["email"] = account.email
        claims["email_verified"] = account.email_verified
    return claims
