"""Adding parameters to an address without touching the rest of it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode


def add_query(uri: str, parameters: Mapping[str, str | None]) -> str:
    """`uri` with the parameters that have a value appended to its query.

    The registered address is kept character for character: a query it has is not re-encoded, and
    a private-use scheme stays as it is.
    """
    query = urlencode(
        {name: value for name, value in parameters.items() if value is not None}, quote_via=quote
    )
    if not query:
        return uri
    if "?" not in uri:
        return f"{uri}?{query}"
    return f"{uri}{query}" if uri.endswith(("?", "&")) else f"{uri}&{query}"
