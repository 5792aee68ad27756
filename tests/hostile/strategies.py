"""What hypothesis sends: requests around sound ones, with values that break things elsewhere."""

from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

import hosting
from hostile.target import (
    CHALLENGE,
    VERIFIER,
    Target,
)

nasty = st.sampled_from(
    [
        b"",
        b"%",
        b"%zz",
        b"%00",
        b"\x00",
        b"%ff",
        b"\xff",
        b"%ed%a0%80",
        b"%0d%0a",
        b"+",
        b"%2B",
        b"%E2%80%AE",
        b"a" * 201,
        b"a" * 6000,
        b"-1",
        b"0",
        b"9" * 400,
        b"null",
        b"[]",
        b"https://evil.example/",
        b"//evil.example",
        b"javascript:alert(1)",
        b"none login",
        b"openid openid",
        b"accounts",
    ]
)
texts = st.text(max_size=30).map(lambda text: quote(text, errors="surrogatepass").encode())
values = st.one_of(nasty, texts, st.binary(max_size=30))


def field(name: str, *sound: str) -> st.SearchStrategy[bytes]:
    """One `name=value`: a value that means something about half of the time."""
    known = st.sampled_from([quote(value, safe="").encode() for value in sound] or [b"x"])
    return st.one_of(known, values).map(lambda value: name.encode() + b"=" + value)


def forms(*fields: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """A form body or query: each field present or not, some twice, in any order, with junk."""
    junk = st.one_of(values, st.tuples(values, values).map(b"=".join))
    chosen = st.tuples(*(st.one_of(each, each, each, st.none()) for each in fields))
    more = st.lists(st.one_of(junk, *fields), max_size=2)
    return st.tuples(chosen, more, st.randoms()).map(_joined)


def _joined(drawn: tuple[tuple[bytes | None, ...], list[bytes], Any]) -> bytes:
    chosen, more, random = drawn
    parts = [part for part in chosen if part is not None] + more
    random.shuffle(parts)
    return b"&".join(parts)


def authorization_queries(target: Target, pending: str) -> st.SearchStrategy[bytes]:
    """Requests around a sound one."""
    clients = (target.application.client_id, target.public.client_id)
    always = [f"client_id={one}&response_type=code&" for one in clients]
    start = st.sampled_from([each.encode() for each in always] + [b"", b"&", b";"])
    fields = forms(
        field("client_id", *clients) if pending else st.nothing() | field("x"),
        field("redirect_uri", hosting.REDIRECT_URI),
        field("response_type", "code", "code id_token", "token"),
        field("response_mode", "query", "fragment", "form_post"),
        field("scope", "openid", "openid profile email offline_access"),
        field("state", "s"),
        field("nonce", "n"),
        field("prompt", "none", "login", "consent", "select_account"),
        field("max_age", "0", "100"),
        field("code_challenge", CHALLENGE),
        field("code_challenge_method", "S256", "plain"),
        field("login_hint"),
        field("ui_locales", "en"),
        st.one_of(st.just(b"ignored="), field("request"), field("request_uri")),
        st.one_of(st.just(b"ignored="), field("pending", pending)),
    )
    uri = quote(hosting.REDIRECT_URI, safe="").encode()
    trusted = st.sampled_from([b"redirect_uri=" + uri + b"&", b""])
    return st.tuples(start, trusted, fields).map(b"".join)


def token_bodies(target: Target, code: str, refresh_token: str) -> st.SearchStrategy[bytes]:
    """Requests around sound ones."""
    return forms(
        field("grant_type", "authorization_code", "refresh_token", "client_credentials"),
        field("code", code, code[:-1], refresh_token),
        field("redirect_uri", hosting.REDIRECT_URI),
        field("code_verifier", VERIFIER),
        field("client_id", target.application.client_id, target.public.client_id),
        field("client_secret", target.application.client_secret or ""),
        field("refresh_token", refresh_token, code),
        field("scope", "openid"),
    )


header_values = st.one_of(
    nasty, st.binary(max_size=40), st.text(max_size=20).map(lambda t: t.encode(errors="replace"))
).filter(lambda value: not {0x0A, 0x0D} & set(value))
headers = st.dictionaries(
    st.sampled_from(
        "Content-Type Cookie Origin Referer Accept Accept-Language X-Forwarded-For".split()
    ),
    header_values,
    max_size=3,
)
