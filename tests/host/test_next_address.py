"""Where a person may be sent after signing in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host_app.next_address import local_path


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/account",
        "/oauth/authorize?pending=eJy_-.abc",
        "/search?q=a%20b&next=//elsewhere.example",
        "/a//b",
        "/time:of/day",
        "/[list]?x={1}|2",
    ],
)
def test_a_path_on_this_site_is_followed(address: str) -> None:
    assert local_path(address) == address


@pytest.mark.parametrize(
    "address",
    [
        None,
        "",
        "account",
        "?x=1",
        "https://elsewhere.example/",
        "https:elsewhere.example",
        "javascript:alert(1)",
        "//elsewhere.example",
        "///elsewhere.example",
        "/\\elsewhere.example",
        "\\\\elsewhere.example",
        "\\/elsewhere.example",
        "/\t/elsewhere.example",
        "/\n/elsewhere.example",
        "/\x00/elsewhere.example",
        "\t//elsewhere.example",
        " //elsewhere.example",
        "/ /elsewhere.example",
        "/a\r\nSet-Cookie: x=1",
        "/path\x7f",
        "/привет",
        "／／elsewhere.example",
        '/"onmouseover=',
    ],
)
def test_anything_else_is_not(address: str | None) -> None:
    assert local_path(address) is None


@given(st.text(alphabet="/\\:?#@.ab\t\n \x00[]%", max_size=12))
def test_what_is_followed_stays_on_this_site(address: str) -> None:
    """As a browser reads it: it drops tabs and line breaks and takes a backslash for a slash."""
    if local_path(address) is not None:
        read = address.replace("\t", "").replace("\n", "").replace("\\", "/").strip()
        assert read.startswith("/")
        assert not read.startswith("//")
