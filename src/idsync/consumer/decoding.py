"""Reading a JSON object piece by piece, so that a list of any length needs little memory.

`members` walks over the object's members. The arrays the caller names come element by element,
every other value whole. Knows values only: bytes in, values out.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from idsync.consumer.errors import UnreadableAnswer

LONGEST_VALUE = 1 << 20
"""Characters of one value, an account for example: a real one has a few hundred."""

_SPACE = " \t\n\r"
_BEHIND_VALUE = _SPACE + ",:]}"


def members(chunks: Iterable[bytes], arrays: Collection[str]) -> Iterator[tuple[str, Any]]:
    """The members of a JSON object as (name, value), in the order of the text.

    Each element of an array named in `arrays` comes as a pair of its own, after one pair
    (name, None) that says the array is there. Raises UnreadableAnswer for anything that is not
    exactly one such object, when it gets there; what `chunks` raises passes through.
    """
    text = _Text(chunks)
    seen: set[str] = set()
    text.take("{")
    if text.peek() == "}":
        text.take("}")
    else:
        separator = ","
        while separator == ",":
            name = text.value()
            if not isinstance(name, str) or name in seen:
                raise UnreadableAnswer("The answer has a member twice, or one without a name.")
            seen.add(name)
            text.take(":")
            if name in arrays:
                yield name, None
                yield from ((name, element) for element in _elements(text))
            else:
                yield name, text.value()
            separator = text.take(",}")
    if text.peek(or_end=True):
        raise UnreadableAnswer("The answer goes on after its end.")


def _elements(text: _Text) -> Iterator[Any]:
    text.take("[")
    if text.peek() == "]":
        text.take("]")
        return
    separator = ","
    while separator == ",":
        yield text.value()
        separator = text.take(",]")


class _Text:
    """The text not read yet, of which as little as possible is held."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._decoder = json.JSONDecoder(parse_constant=_refuse_constant)
        self._held = ""
        self._at = 0
        self._ended = False

    def peek(self, *, or_end: bool = False) -> str:
        """The next character that is no space; "" at the end, where that is allowed."""
        while True:
            while self._at < len(self._held) and self._held[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._held):
                return self._held[self._at]
            if not self._more():
                if or_end:
                    return ""
                raise UnreadableAnswer("The answer is cut off.")

    def take(self, wanted: str) -> str:
        """The next character, which is one of these."""
        found = self.peek()
        if found not in wanted:
            raise UnreadableAnswer("The answer is not the JSON of an account API.")
        self._at += 1
        return found

    def value(self) -> Any:
        """The next value, whole."""
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._held, self._at)
            except RecursionError:
                raise UnreadableAnswer("The answer is nested too deeply.") from None
            except UnreadableAnswer:
                raise
            except ValueError:
                end = -1
            # A number may go on in the next chunk ("1", "1.", "1.5"): what ends it must be seen.
            if 0 <= end < len(self._held) and self._held[end] in _BEHIND_VALUE:
                self._at = end
                return value
            if len(self._held) - self._at > LONGEST_VALUE:
                raise UnreadableAnswer("The answer is no JSON, or has a value too long to be one.")
            if not self._more():
                raise UnreadableAnswer("The answer is cut off, or no JSON.")

    def _more(self) -> bool:
        """Hold some more text; False at the end."""
        while not self._ended:
            chunk = next(self._chunks, None)
            self._ended = chunk is None
            try:
                text = self._utf8.decode(chunk or b"", final=self._ended)
            except UnicodeDecodeError:
                raise UnreadableAnswer("The answer is not UTF-8.") from None
            if text:
                self._held = self._held[self._at :] + text
                self._at = 0
                return True
        return False


def _refuse_constant(name: str) -> Any:
    raise UnreadableAnswer(f"The answer has {name}, which is no JSON.")
