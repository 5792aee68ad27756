"""Reading what callers send: plain functions, for any input at all."""

import json
import re
from base64 import urlsafe_b64encode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from idsync.account_api.cursor import Cursor, read_cursor, shape_of
from idsync.account_api.query import ListQuery, read_etags, read_query
from idsync.account_api.wire import ChangeAccount, CreateAccount, read_body
from idsync.errors import InvalidValue

cursors = st.builds(
    Cursor,
    incarnation=st.binary(min_size=8, max_size=8),
    revision=st.integers(0, 2**64 - 1),
    shape=st.binary(min_size=8, max_size=8),
)


@given(cursors)
def test_a_cursor_is_read_as_it_was_written(cursor: Cursor) -> None:
    """32 characters that need no escaping in an address or a header."""
    text = str(cursor)
    assert read_cursor(text) == cursor
    assert re.fullmatch(r"[A-Za-z0-9_-]{32}", text)


@given(st.text())
@example(urlsafe_b64encode(bytes(24)).decode() + "\n")
@example("\ud800")
def test_any_other_text_is_no_cursor(text: str) -> None:
    """A text that reads as one is exactly what it would be written as."""
    cursor = read_cursor(text)
    assert cursor is None or str(cursor) == text


def test_whatever_shapes_an_answer_changes_its_cursors() -> None:
    """A tag is not taken for no tag, nor one role map for another."""
    roles = {"chef": "cook"}
    shapes = [
        shape_of(None, roles, hashes=True),
        shape_of("", roles, hashes=True),
        shape_of("null", roles, hashes=True),
        shape_of("wiki", roles, hashes=True),
        shape_of(None, {"chef": "boss"}, hashes=True),
        shape_of(None, {}, hashes=True),
        shape_of(None, roles, hashes=False),
    ]
    assert len(set(shapes)) == len(shapes)
    assert shape_of(None, {"a": "1", "b": "2"}, hashes=True) == shape_of(
        None, {"b": "2", "a": "1"}, hashes=True
    )


def check_message(refused: InvalidValue) -> None:
    """It can be shown."""
    assert str(refused).isprintable(), str(refused)
    assert len(str(refused)) < 300


@given(st.one_of(st.binary(), st.text("tagsince=&%+;aF0\x00é").map(str.encode)))
def test_any_query_is_read_or_refused(raw: bytes) -> None:
    """With a message that can be shown."""
    try:
        query = read_query(raw)
    except InvalidValue as error:
        check_message(error)
    else:
        assert query.tag is None or 0 < len(query.tag) <= 64


def test_a_query_is_percent_decoded_utf8() -> None:
    """A plus is a space, as forms have it."""
    raw = b"tag=%D1%83%D1%87+%E2%82%AC&since=a%2Bb"
    assert read_query(raw) == ListQuery(tag="уч €", since="a+b")
    assert read_query("tag=уч".encode()) == ListQuery(tag="уч", since="")
    assert read_query(b"") == ListQuery(tag=None, since="")


@pytest.mark.parametrize(
    ("header", "read"),
    [
        ("", [""]),
        ('"a"', ["a"]),
        ('W/"a", "b" ,c', ["a", "b", "c"]),
        ("*", ["*"]),
        ('"a,b"', ["a", "b"]),
        ('""', [""]),
    ],
)
def test_etags_are_read_however_they_are_quoted(header: str, read: list[str]) -> None:
    """What is not ours is no cursor."""
    assert read_etags(header) == read


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=10,
)
fields = ["name", "email", "password", "tags", "id", "tags_add", "tags_remove", "disabled"]
bodies = st.one_of(
    st.binary(),
    json_values.map(json.dumps).map(str.encode),
    st.dictionaries(st.sampled_from(fields), json_values).map(json.dumps).map(str.encode),
)


@given(bodies, st.sampled_from([CreateAccount, ChangeAccount]))
@example(b'{"name": "\\ud800"}', CreateAccount)
@example(b'{"\\ud800": 1}', CreateAccount)
@example(b'{"a` - at `$.b`": 1}', CreateAccount)
@example(b'{"a\\n": 1}', ChangeAccount)
@example(b'{"name": "A", "disabled": 1e999}', ChangeAccount)
@example(b"9" * 5000, ChangeAccount)
def test_any_body_is_read_or_refused(
    raw: bytes, record: type[CreateAccount] | type[ChangeAccount]
) -> None:
    """With a message that can be shown, and nothing in between."""
    try:
        read = read_body(raw, "application/json", record)
    except InvalidValue as error:
        check_message(error)
    else:
        assert isinstance(read, record)
