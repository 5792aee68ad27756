"""Ways to spoil a parameter: what cannot be read at all, and what can be read but is not sound."""

from typing import Any
from urllib.parse import quote_plus

Fields = dict[str, Any]

# What is no text: refused whole, never replaced or cut short.
UNREADABLE = {
    "percent-encoded, not UTF-8": b"a%ff%feb",
    "raw bytes, not UTF-8": b"a\xff\xfeb",
    "percent-encoded, cut short": b"a%c3",
    "an overlong form of a slash": b"%c0%af",
    "a lone surrogate": b"%ed%a0%80",
    "a UTF-16 byte order mark": b"%ff%fea%00",
    "NUL": b"a%00b",
    "raw NUL": b"a\x00b",
    "line break": b"a%0d%0aSet-Cookie:%20a=b",
    "tabulator": b"a%09b",
    "escape": b"%1b%5b31m",
    "delete": b"a%7fb",
}

OVERLONG = "a" * 6000
NON_ASCII = "é\u202e漢字\U0001f600\ufeff"
QUOTES = "\"'<script>\\{{7*7}}%s%00"

# How one parameter may be spoilt and still be read, in the order of the tables' columns.
SPOILT = ("missing", "empty", "repeated", "overlong", "non-ASCII", "quotes")


def spoil(fields: Fields, name: str, how: str) -> Fields:
    """The fields with one of them spoilt."""
    value = str(fields.get(name, "x"))
    without = {other: kept for other, kept in fields.items() if other != name}
    if how == "missing":
        return without
    spoilt: Any = {
        "empty": "",
        "repeated": [quote_plus(value).encode()] * 2,
        "overlong": OVERLONG,
        "non-ASCII": NON_ASCII,
        "quotes": QUOTES,
    }[how]
    return {**without, name: spoilt}


def cells(table: dict[str, str]) -> list[tuple[str, str, str]]:
    """The cells of a table: parameter, how it is spoilt, what is expected."""
    return [
        (name, how, expected)
        for name, row in table.items()
        for how, expected in zip(SPOILT, row.split(), strict=True)
    ]
