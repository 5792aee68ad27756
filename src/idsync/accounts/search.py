"""Searching accounts by the beginning of a name, an e-mail address or an id, page by page.

A page begins where the last one ended, so the thousandth costs what the first does. Names come
first, then addresses, then ids, because each has an index of its own to be read in order.
"""

from __future__ import annotations

import base64
import json
import unicodedata
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, and_, collate, literal, not_, or_, true, tuple_

from idsync.accounts.listing import has_tag
from idsync.accounts.lookup import Lookup
from idsync.accounts.names import name_key
from idsync.accounts.record import Account, account_from
from idsync.accounts.rules import email_key
from idsync.errors import InvalidValue

LAST = "\U0010ffff"
"""Behind every character that a name, an address or an id can have."""

COLUMNS = ("name_key", "email_key", "subject")


@dataclass(frozen=True, slots=True)
class Found:
    """A page of accounts. after: what the next page is asked for with; None on the last one."""

    accounts: list[Account]
    after: str | None


class AccountSearch(Lookup):
    """Searches accounts."""

    def search(
        self,
        prefix: str = "",
        *,
        tag: str | None = None,
        disabled: bool | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Found:
        """Accounts whose name, e-mail address or id begins with `prefix`; all without one.

        Names and addresses are compared without case, ids exactly. after: the `after` of the page
        before, asked for with the same prefix, tag and disabled. Raises InvalidValue for an
        `after` that is none.
        """
        start, position = (0, None) if after is None else _read(after)
        if not _is_searchable(prefix) or not _is_searchable(tag or ""):
            return Found([], None)
        ranges = self._ranges(prefix)
        conditions = [] if tag is None else [self._carries(tag)]
        if disabled is not None:
            reason = self._models.table.c.disabled_by
            conditions.append(reason.is_not(None) if disabled else reason.is_(None))
        rows: list[tuple[int, Any]] = []
        for number in range(start, len(ranges)):
            seen = [
                or_(not_(earlier), column.is_(None))
                for earlier, column in zip(ranges[:number], self._columns, strict=False)
            ]
            statement = self._statement(number, position if number == start else None)
            statement = statement.where(ranges[number], *seen, *conditions)
            # One more than wanted tells whether there is a next page.
            statement = statement.limit(limit + 1 - len(rows))
            found = self._session.connection().execute(statement).mappings()
            rows += [(number, row) for row in found]
            if len(rows) > limit:
                break
        more, rows = len(rows) > limit, rows[:limit]
        return Found([account_from(row) for _, row in rows], _written(*rows[-1]) if more else None)

    @property
    def _columns(self) -> list[Column[Any]]:
        return [self._models.table.c[name] for name in COLUMNS]

    def _ranges(self, prefix: str) -> list[Any]:
        """For each column, the condition that it begins with the prefix."""
        folded = name_key(prefix)
        if not folded:
            return [true()]
        prefixes = (folded, email_key(prefix), prefix.strip())
        return [
            and_(self._by_code(column) >= text, self._by_code(column) < text + LAST)
            for column, text in zip(self._columns, prefixes, strict=True)
        ]

    def _statement(self, number: int, position: tuple[str, str] | None) -> Any:
        key, subject = self._columns[number], self._models.table.c.subject
        # Names are shared; addresses and ids are nobody else's, and tell the order alone.
        columns = (key, subject) if number == 0 else (key,)
        order = [self._by_code(column) for column in columns]
        statement = self._accounts().add_columns(key.label("search_key")).order_by(*order)
        if position is not None:
            seen = [literal(text) for text in position[: len(order)]]
            statement = statement.where(tuple_(*order) > tuple_(*seen))
        return statement

    def _by_code(self, column: Column[Any]) -> Any:
        """A column compared character by character, whatever language the database sorts in."""
        if self._session.connection().dialect.name == "postgresql":
            return collate(column, "C")
        return column

    def _carries(self, tag: str) -> Any:
        return has_tag(self._session, self._models, unicodedata.normalize("NFC", tag))


def _is_searchable(text: str) -> bool:
    """Whether a database can be asked for it: PostgreSQL knows no NUL, UTF-8 no half character."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _written(number: int, row: Any) -> str:
    position = json.dumps([number, row["search_key"], row["subject"]], ensure_ascii=False)
    return base64.urlsafe_b64encode(position.encode()).decode().rstrip("=")


def _read(after: str) -> tuple[int, tuple[str, str]]:
    try:
        number, key, subject = json.loads(base64.urlsafe_b64decode(after + "=="))
        texts = all(isinstance(one, str) and _is_searchable(one) for one in (key, subject))
        if texts and type(number) is int and 0 <= number < len(COLUMNS):
            return number, (key, subject)
    except (ValueError, TypeError, RecursionError):
        pass
    raise InvalidValue("after", "not the end of a page of accounts")
