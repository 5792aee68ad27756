"""What a reader asks of the list: which accounts, and since when.

Werkzeug's parser takes the first of repeated parameters and replaces what it cannot decode. A
reader that meant another tag would be given other people's hashes, so both are refused instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl

from idsync.account_api.wire import legible
from idsync.accounts.rules import checked_tags
from idsync.errors import InvalidValue

MOST_PARAMETERS = 64


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
        pairs = parse_qsl(
            raw.decode("utf-8"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_PARAMETERS,
        )
    except UnicodeError:
        raise InvalidValue("query", "is not percent-encoded UTF-8") from None
    except ValueError:
        raise InvalidValue(
            "query", "has more than %(most)d parameters", most=MOST_PARAMETERS
        ) from None
    for name, _ in pairs:
        if name not in ("tag", "since"):
            raise InvalidValue(legible(name), "is not a parameter of this request")
    tag = _only(pairs, "tag")
    return ListQuery(
        tag=None if tag is None else checked_tags("tag", [tag])[0],
        since=_only(pairs, "since") or "",
    )


def read_etags(header: str) -> list[str]:
    """What an If-None-Match header lists, without quotes and weakness (RFC 9110 §13.1.2).

    ETags of ours have no commas; others are not ours whatever becomes of them.
    """
    return [one.strip().removeprefix("W/").strip('"') for one in header.split(",")]


def _only(pairs: list[tuple[str, str]], name: str) -> str | None:
    values = [value for key, value in pairs if key == name]
    if len(values) > 1:
        raise InvalidValue(name, "is given more than once")
    return values[0] if values else None
