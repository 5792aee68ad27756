"""Where a sign-out may lead: to the host of a registered address, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idsync.oauth.logout import may_follow

REGISTERED = ("https://app.example.org/callback", "http://127.0.0.1:5000/", "org.example.app:/cb")


@pytest.mark.parametrize(
    "address",
    [
        "https://app.example.org",
        "https://app.example.org/",
        "https://APP.Example.ORG/x?y=1#z",
        "http://app.example.org/",
        "HTTPS://app.example.org/",
        "https://app.example.org:8443/x",
        "http://127.0.0.1/",
    ],
)
def test_next_is_followed_to_the_host_of_a_registered_address(address: str) -> None:
    """Without case, http or https, any path and port."""
    assert may_follow(address, REGISTERED)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "/",
        "bye",
        "//app.example.org/",
        "///app.example.org/",
        "https:app.example.org",
        "https:/app.example.org",
        "https:///app.example.org",
        "https://evil.example/",
        "https://app.example.org.evil.example/",
        "https://evilapp.example.org/",
        "https://sub.app.example.org/",
        "https://app.example.org./",
        "https://app.example.org@evil.example/",
        "https://evil.example@app.example.org/",
        "https://app.example.org:x@evil.example/",
        "https://evil.example\\@app.example.org/",
        "https://app.example.org\\.evil.example/",
        "https:\\\\app.example.org/",
        "https://evil.example/\\app.example.org",
        "https://app.example.org%2eevil.example/",
        "https://app.example.org%00.evil.example/",
        "https://app.example.org\t/",
        " https://app.example.org/",
        "https://app.example.org/\r\nX: y",
        "https://\u0430pp.example.org/",
        "https://app\u3002example.org/",
        "https://app.example.org:port/",
        "https://[::1/",
        "javascript:alert(1)//app.example.org",
        "data:text/html,https://app.example.org",
        "ftp://app.example.org/",
        "org.example.app:/cb",
        "org.example.app://app.example.org/",
    ],
)
def test_every_other_form_is_not_followed(address: str) -> None:
    """Whatever a browser might make of it."""
    assert not may_follow(address, REGISTERED)


@given(st.text())
def test_no_text_is_followed_by_accident(text: str) -> None:
    """Arbitrary text before, behind and inside."""
    for address in (text, f"https://{text}", f"https://{text}.app.example.org/"):
        assert not may_follow(address, ["https://registered.example.net/"])
