"""What a reader asks of the list: which accounts, and since when.

A reader that meant another tag would be given other people's hashes, so what is repeated or unknown
is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from idsync.account_api.wire import legible
from idsync.accounts.rules import checked_tags
from idsync.errors import InvalidValue
from idsync.parameters import Parameters, UnreadableParameters, read_parameters


@dataclass(frozen=True, slots=True)
class ListQuery:
    """tag: in the form it is stored, None for all accounts; since: a cursor as sent, or empty."""

    tag: str | None
    since: str


def read_query(raw: bytes) -> ListQuery:
    """The query of a list. Raises InvalidValue naming the field.

    An empty `since` is that of a reader who has nothing yet. An empty `tag` is nobody's, and what
    is not known is refused: `?tags=wiki` must not give all accounts.
    """
    try:
        parameters = read_parameters(raw)
    except UnreadableParameters as error:
        raise InvalidValue("query", "cannot be read: %(reason)s", reason=error) from None
    for name in parameters:
        if name not in ("tag", "since"):
            raise InvalidValue(legible(name), "is not a parameter of this request")
    tag = _only(parameters, "tag")
    return ListQuery(
        tag=None if tag is None else checked_tags("tag", [tag])[0],
        since=_only(parameters, "since") or "",
    )


def read_etags(header: str) -> list[str]:
    """What an If-None-Match header lists, without quotes and weakness (RFC 9110 §13.1.2).

    ETags of ours have no commas; others are not ours whatever becomes of them.
    """
    return [one.strip().removeprefix("W/").strip('"') for one in header.split(",")]


def _only(parameters: Parameters, name: str) -> str | None:
    values = parameters.get(name, [])
    if len(values) > 1:
        raise InvalidValue(name, "is given more than once")
    return values[0] if values else None
