"""Rules of registering a client application."""

from dataclasses import replace

import pytest

from applications.sound import SOUND
from idsync.applications.application import check_registration, is_client_id
from idsync.errors import InvalidValue


@pytest.mark.parametrize(
    "uri",
    [
        "https://app.example/callback",
        "https://app.example/callback/?tenant=1&x=%20",
        "https://app.example:8443/",
        "http://127.0.0.1:5000/callback",
        "http://localhost/callback",
        "http://[::1]:8000/callback",
        "org.example.app:/callback",
        "org.example.app://callback",
        "https://[2001:db8::1]/callback",
    ],
)
def test_a_sound_address_is_registered(uri: str) -> None:
    """https, loopback http and private-use schemes with a dot are accepted."""
    check_registration(replace(SOUND, redirect_uris=(uri,)))


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "/callback",
        "app.example/callback",
        "//app.example/callback",
        "http://app.example/callback",
        "http://127.0.0.1.evil.example/",
        "http://localhost.evil.example/",
        "https://app.example/callback#fragment",
        "https://app.example/callback#",
        "https://user@app.example/callback",
        "https://app.example/call back",
        "https://app.example/\r\nLocation: https://evil.example",
        "https://app.example/\0",
        "https://кот.example/",
        'https://app.example/"onload',
        "https://app.example\\@evil.example/",
        "https://",
        "https:///callback",
        "https://app.example:port/",
        "https://[::1/",
        "javascript:alert(1)",
        "data:text/html,x",
        "vbscript.x:y z",
        "myapp:/callback",
        "file:///etc/passwd",
        "https://app.example/" + "a" * 2000,
        "https://*.app.example/callback",
        "https://app.example/*",
        "https://user:secret@app.example/",
        "JavaScript:alert(1)",
        "javascript://app.example/%0aalert(1)",
        "data.x",
        "blob:https://app.example/1",
        "about:blank",
        "HTTP://app.example/",
        "http://2130706433/",
    ],
)
@pytest.mark.parametrize("field", ["redirect_uris", "post_logout_redirect_uris"])
def test_an_unsafe_address_is_refused(uri: str, field: str) -> None:
    """Anything a code or a person should not be sent to is refused, naming the field."""
    with pytest.raises(InvalidValue, match=field[:-1]):
        check_registration(replace(SOUND, **{field: (uri,)}))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"redirect_uris": ()}, "redirect_uri"),
        ({"redirect_uris": ("https://a.example/",) * 2}, "redirect_uri"),
        (
            {"redirect_uris": tuple(f"https://a.example/{number}" for number in range(51))},
            "redirect_uri",
        ),
        (
            {"post_logout_redirect_uris": ("https://a.example/",) * 2},
            "post_logout_redirect_uri",
        ),
        ({"scopes": ("openid", "accounts")}, "scope"),
        ({"scopes": ("openid", "phone")}, "scope"),
        ({"id_token_algorithm": "none"}, "id_token_alg"),
        ({"service_tag": "e\u0301"}, "service_tag"),
        ({"service_tag": "x" * 65}, "service_tag"),
        ({"service_tag": "a\tb"}, "service_tag"),
        ({"secret_digest": None, "accounts": True}, "accounts"),
        (
            {
                "secret_digest": None,
                "first_party": True,
                "redirect_uris": ("org.example.app:/callback",),
            },
            "first_party",
        ),
        (
            {
                "secret_digest": None,
                "first_party": True,
                "redirect_uris": ("http://127.0.0.1/callback",),
            },
            "first_party",
        ),
    ],
)
def test_a_registration_that_is_unsafe_or_cannot_work_is_refused(
    change: dict[str, object], field: str
) -> None:
    """The refusal names the field."""
    with pytest.raises(InvalidValue) as refused:
        check_registration(replace(SOUND, **change))  # type: ignore[arg-type]
    assert refused.value.field == field


def test_a_service_without_sign_in_needs_no_address() -> None:
    """An application that only synchronizes accounts has no return address."""
    check_registration(replace(SOUND, redirect_uris=(), accounts=True))


def test_scopes_that_were_not_granted_are_dropped_and_openid_is_added() -> None:
    """The contract: `openid` always, ungranted ones silently dropped, in a fixed order."""
    assert SOUND.allowed_scopes("") == ("openid",)
    assert SOUND.allowed_scopes("email profile accounts nonsense") == ("openid", "profile")
    assert SOUND.allowed_scopes("profile  openid profile") == ("openid", "profile")


def test_a_service_tag_decides_who_is_admitted() -> None:
    """Without a tag everybody is; with one only its holders."""
    assert SOUND.admits(frozenset())
    tagged = replace(SOUND, service_tag="wiki")
    assert tagged.admits(frozenset({"wiki", "mail"}))
    assert not tagged.admits(frozenset({"Wiki"}))


@pytest.mark.parametrize("text", ["", "a b", "a\0", "é", "a" * 65, "a/b", "a\n"])
def test_what_is_no_client_id_never_reaches_the_database(text: str) -> None:
    """Only unreserved characters, 1 to 64."""
    assert not is_client_id(text)


@pytest.mark.parametrize(
    "uri", ["https://app.example/logged-out?a=1", "http://127.0.0.1:5000/", "http://[::1]/x"]
)
def test_a_back_channel_address_is_https_or_http_on_loopback(uri: str) -> None:
    """Public applications may have a server side too."""
    check_registration(replace(SOUND, backchannel_logout_uri=uri))
    check_registration(replace(SOUND, secret_digest=None, backchannel_logout_uri=uri))


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "http://app.example/logged-out",
        "org.example.app:/logged-out",
        "https://app.example/logged-out#fragment",
        "https://user@app.example/",
        "https://app.example/\r\nHost: evil.example",
        "ftp://app.example/",
        "//app.example/",
    ],
)
def test_an_unsafe_back_channel_address_is_refused(uri: str) -> None:
    """Nothing goes out unprotected, nor to anything but a server (Back-Channel Logout 1.0 §2.2)."""
    with pytest.raises(InvalidValue, match="backchannel_logout_uri"):
        check_registration(replace(SOUND, backchannel_logout_uri=uri))


def test_a_session_is_required_only_where_there_is_an_address() -> None:
    with pytest.raises(InvalidValue, match="session_required"):
        check_registration(replace(SOUND, backchannel_logout_session_required=True))
