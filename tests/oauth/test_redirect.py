"""Adding an answer to a registered address."""

from urllib.parse import parse_qsl, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from idsync.oauth.redirect import add_query


def test_the_registered_address_is_kept_character_for_character() -> None:
    """Queries are not re-encoded, private-use schemes stay as they are."""
    answer = {"code": "c", "state": None}
    assert add_query("https://a.example/cb", answer) == "https://a.example/cb?code=c"
    assert add_query("https://a.example/cb?x=%7e+", answer) == "https://a.example/cb?x=%7e+&code=c"
    assert add_query("https://a.example/cb?", answer) == "https://a.example/cb?code=c"
    assert add_query("org.example:/cb", answer) == "org.example:/cb?code=c"
    assert add_query("org.example://", answer) == "org.example://?code=c"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_state_comes_back_unchanged(state: str) -> None:
    """Colons, quotes, line breaks and other scripts survive, and never break the header."""
    uri = add_query("https://a.example/cb?x=1", {"state": state})
    assert uri.isascii()
    assert uri.isprintable()
    assert dict(parse_qsl(urlsplit(uri).query, keep_blank_values=True))["state"] == state
