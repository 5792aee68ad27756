"""CSV and JSON Lines: lines of a file as values, and values as lines.

CSV is opened in spreadsheets, which run a cell that begins like a formula. Such a cell gets an
apostrophe in front, and loses it when it is read, so that what is written comes back as it was. So
does each part of a cell behind a semicolon, a tab or a line break, at which some spreadsheets part
cells.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TextIO

from idsync.accounts.transfer.person import FIELDS, FLAGS
from idsync.errors import InvalidValue

CSV = "csv"
JSON_LINES = "jsonl"
FORMATS = (CSV, JSON_LINES)

LONGEST_LINE = 100_000
"""Characters; a person with every field as long as it may be needs a tenth."""

# Also in the full width of East Asian keyboards, which some spreadsheets read alike.
_FORMULA = re.compile(r"(^|[;\t\r\n])(?='*[=+\-@\t\r＝＋－＠])")
_ESCAPED = re.compile(r"(^|[;\t\r\n])'(?='*[=+\-@\t\r＝＋－＠])")

_FLAG_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class Line(NamedTuple):
    """A line of a file: what it says, or why it cannot be read."""

    number: int
    values: Mapping[str, Any]
    problem: InvalidValue | None = None


def read_lines(file: TextIO, file_format: str) -> Iterator[Line]:
    """The people in a file opened as UTF-8, with `surrogateescape` for what is none.

    A file whose structure is broken ends at the line that says so.
    """
    return _read_csv(file) if file_format == CSV else _read_json_lines(file)


class Writer:
    """Writes people to a file."""

    def __init__(self, file: TextIO, file_format: str) -> None:
        self._file = file
        self._csv = csv.writer(file) if file_format == CSV else None
        if self._csv is not None:
            file.write("\ufeff")  # or a spreadsheet takes UTF-8 for something older
            self._csv.writerow(FIELDS)

    def write(self, values: Mapping[str, Any]) -> None:
        """Write one person."""
        if self._csv is not None:
            self._csv.writerow([_cell(values[name]) for name in FIELDS])
        else:
            self._file.write(json.dumps(values, ensure_ascii=False) + "\n")


def _read_csv(file: TextIO) -> Iterator[Line]:
    lines = _RowLines(file)
    reader = csv.reader(lines, strict=True)
    number = 1
    try:
        header = [name.strip() for name in next(reader, [])]
        problem = _header_problem(header)
        if problem is not None:
            yield Line(1, {}, problem)
            return
        while True:
            number = reader.line_num + 1
            lines.characters = 0
            row = next(reader, None)
            if row is None:
                return
            if row:
                yield _csv_line(number, header, row)
    except (csv.Error, _TooLong) as error:
        yield Line(number, {}, InvalidValue("line", "cannot be read: %(reason)s", reason=error))


def _header_problem(header: list[str]) -> InvalidValue | None:
    for name in header:
        if name not in FIELDS:
            return InvalidValue(
                name or "header", "is no field; known are %(known)s", known=", ".join(FIELDS)
            )
        if header.count(name) > 1:
            return InvalidValue(name, "is there twice")
    if "name" not in header:
        return InvalidValue("header", "the first line must name the fields, `name` among them")
    return None


def _csv_line(number: int, header: list[str], row: list[str]) -> Line:
    if len(row) != len(header):
        problem = InvalidValue(
            "line",
            "has %(cells)d cells where the first line has %(fields)d",
            cells=len(row),
            fields=len(header),
        )
        return Line(number, {}, problem)
    values: dict[str, Any] = {}
    try:
        for name, cell in zip(header, row, strict=True):
            values[name] = _value(name, cell)
    except InvalidValue as error:
        return Line(number, {}, error)
    return Line(number, values)


def _value(name: str, cell: str) -> Any:
    cell = _ESCAPED.sub(r"\1", cell)
    if name in FLAGS:
        if cell and cell.strip().lower() not in _FLAG_WORDS:
            raise InvalidValue(name, "must be true or false")
        return _FLAG_WORDS.get(cell.strip().lower(), False)
    if name == "tags":
        return _tags(cell)
    return cell or None


def _tags(cell: str) -> list[Any]:
    if not cell.startswith("["):
        return [tag.strip() for tag in cell.split(",") if tag.strip()]
    try:
        tags = json.loads(cell)
    except (ValueError, RecursionError):
        tags = None
    if not isinstance(tags, list):
        raise InvalidValue("tags", "must be separated by commas, or a list in JSON")
    return tags


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        plain = not any("," in tag or tag.startswith("[") for tag in value)
        value = ",".join(value) if plain else json.dumps(value, ensure_ascii=False)
    return safe_cell(str(value))


def safe_cell(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return _FORMULA.sub(r"\1'", text)


def _read_json_lines(file: TextIO) -> Iterator[Line]:
    number = 0
    try:
        for number, line in enumerate(_short_lines(file), 1):
            if line.strip():
                yield _json_line(number, line)
    except _TooLong as error:
        yield Line(number + 1, {}, InvalidValue("line", "cannot be read: %(reason)s", reason=error))


def _json_line(number: int, line: str) -> Line:
    try:
        values = json.loads(line, object_pairs_hook=_once_each)
    except InvalidValue as error:
        return Line(number, {}, error)
    except (ValueError, RecursionError):
        return Line(number, {}, InvalidValue("line", "is not JSON"))
    if not isinstance(values, dict):
        return Line(number, {}, InvalidValue("line", "is not a JSON object"))
    return Line(number, values)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        names = [name for name, _ in pairs]
        raise InvalidValue(next(name for name in names if names.count(name) > 1), "is there twice")
    return values


class _TooLong(Exception):
    """A line that no person fills."""


class _RowLines(Iterator[str]):
    """The lines of a CSV file. A row may take several, which together may not fill the memory.

    characters: of the row being read.
    """

    def __init__(self, file: TextIO) -> None:
        self._lines = _short_lines(file)
        self.characters = 0

    def __next__(self) -> str:
        line = next(self._lines)
        self.characters += len(line)
        if self.characters > LONGEST_LINE:
            raise _TooLong(f"it is longer than {LONGEST_LINE} characters")
        return line


def _short_lines(file: TextIO) -> Iterator[str]:
    """The lines of a file, of which none may fill the memory."""
    first = True
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise _TooLong(f"it is longer than {LONGEST_LINE} characters")
        yield line.removeprefix("\ufeff") if first else line
        first = False
