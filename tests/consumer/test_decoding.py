"""Lists read piece by piece."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idsync.consumer.decoding import LONGEST_VALUE, members
from idsync.consumer.errors import UnreadableAnswer

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=8,
)


def read(text: bytes, size: int = 1 << 16) -> dict[str, Any]:
    """The object, put together again."""
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    whole: dict[str, Any] = {}
    for name, value in members(pieces, ("accounts",)):
        if name != "accounts":
            whole[name] = value
        elif name not in whole:
            whole[name] = []
        else:
            whole[name].append(value)
    return whole


@given(
    accounts=st.lists(VALUES, max_size=4),
    rest=st.dictionaries(st.sampled_from(["cursor", "complete", "é"]), VALUES),
    size=st.integers(1, 9),
    escaped=st.booleans(),
    indent=st.sampled_from([None, 1]),
)
def test_it_is_the_same_however_it_is_cut(
    accounts: list[Any], rest: dict[str, Any], size: int, escaped: bool, indent: int | None
) -> None:
    whole = {"accounts": accounts, **rest}
    text = json.dumps(whole, ensure_ascii=escaped, indent=indent).encode()
    assert read(text, size) == whole


@given(accounts=st.lists(VALUES, max_size=3), share=st.floats(0, 1, exclude_max=True))
def test_what_is_cut_off_is_never_taken_for_whole(accounts: list[Any], share: float) -> None:
    text = json.dumps({"accounts": accounts, "cursor": "c"}).encode()
    with pytest.raises(UnreadableAnswer):
        read(text[: int(len(text) * share)])


@given(garbage=st.binary(max_size=60))
def test_garbage_ends_in_the_one_error(garbage: bytes) -> None:
    try:
        json.loads(garbage.decode())
    except (ValueError, RecursionError):
        with pytest.raises(UnreadableAnswer):
            read(garbage)


@pytest.mark.parametrize(
    "text",
    [
        b"[]",
        b"1",
        b'"text"',
        b'{"a":1}x',
        b'{"a":1}{}',
        b'{"a":1,"a":2}',
        b'{"a":1,}',
        b'{"accounts":[1,]}',
        b'{"accounts":{}}',
        b'{"accounts":[1 2]}',
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b"{1:2}",
        b'{"a":"\xff"}',
        b"\xef\xbb\xbf{}",
        b"<html>",
        b'{"a":' + b"[" * 100_000,
    ],
)
def test_only_one_whole_object_is_read(text: bytes) -> None:
    with pytest.raises(UnreadableAnswer):
        read(text)


def test_a_value_without_end_is_given_up() -> None:
    """Else one never-ending text would fill the memory."""
    sent = 0

    def endless() -> Any:
        nonlocal sent
        yield b'{"accounts":["'
        while True:
            sent += 1 << 16
            yield b"a" * (1 << 16)

    with pytest.raises(UnreadableAnswer):
        list(members(endless(), ("accounts",)))
    assert sent < 2 * LONGEST_VALUE
