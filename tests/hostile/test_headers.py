"""Every header, spoilt in every way, at every address."""

from base64 import b64encode
from urllib.parse import urlsplit

import pytest

import hosting
from hostile.target import (
    DOCUMENTS,
    FORM,
    MACHINE,
    VERIFIER,
    Target,
    check_decency,
    check_machine_answer,
    encoded,
    send,
)

HEADERS = (
    "Authorization",
    "Content-Type",
    "Content-Length",
    "Cookie",
    "Host",
    "Origin",
    "Referer",
    "Accept",
    "Accept-Language",
    "Access-Control-Request-Headers",
    "If-None-Match",
    "If-Modified-Since",
    "Range",
    "User-Agent",
    "X-CSRFToken",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
)

# No CR or LF: no server hands those over.
SPOILT = {
    "empty": b"",
    "space": b"   ",
    "NUL": b"a\x00b",
    "control characters": b"\x01\x08\x0b\x1b[31m\x7f",
    "not UTF-8": b"\xff\xfe\x80",
    "UTF-8": "пароль\u202e".encode(),
    "overlong": b"a" * 20_000,
    "many parts": b"a=b;q=0.1," * 1000,
    "separators": b',;=,"\\;=;',
    "an open quote": b'a; b="c',
    "an open bracket": b"http://[::1",
    "another site": b"https://evil.example/",
    "a number": b"99999999999999999999999999",
    "a negative number": b"-1",
    "encoded word": b"=?utf-8?B?w6k=?=; filename*=utf-8''%ff",
}

CONTENT_TYPES = (
    b"",
    b"text/plain",
    b"application/json",
    b"multipart/form-data",
    b"multipart/form-data; boundary=",
    b"multipart/form-data; boundary=\xff\xfe",
    b'multipart/form-data; boundary="',
    b"multipart/form-data; boundary=" + b"a" * 300,
    b"application/x-www-form-urlencoded; charset=utf-16",
    b"application/x-www-form-urlencoded; charset=nonsense",
    b"application/x-www-form-urlencoded, text/html",
    b"APPLICATION/X-WWW-FORM-URLENCODED",
    b"application/x-www-form-urlencoded\x00",
    b"application/\xff",
    b"/",
    b";",
)


def basic(credentials: bytes) -> bytes:
    return b"Basic " + b64encode(credentials)


UNREADABLE_BASIC = {
    "no value": b"Basic",
    "a space only": b"Basic   ",
    "not base64": b"Basic !!!!",
    "padding missing": b"Basic YTp",
    "padding in the middle": b"Basic YT==pi",
    "URL-safe base64": b"Basic _-8=",
    "two words": b"Basic YTpi YTpi",
    "two headers joined": b"Basic YTpi, Basic YTpi",
    "not ASCII": b"Basic \xc3\xa9",
    "NUL": b"Basic YTpi\x00",
    "no colon": basic(b"nothing"),
    "not UTF-8": basic(b"\xff:\xfe"),
    "not UTF-8 when decoded": basic(b"app_x:%ff%fe"),
    "a lone surrogate": basic(b"app_x:\xed\xa0\x80"),
    "parameters": b'Basic realm="x"',
    "a longer name": b"Basics YTpi",
}
WRONG_BASIC = {
    "only a colon": basic(b":"),
    "an unknown application": basic(b"app_x:y"),
    "no application": basic(b":y"),
    "NUL in the name": basic(b"app\x00x:y"),
    "NUL when decoded": basic(b"app_x:%00"),
    "overlong": basic(b"a" * 20_000 + b":" + b"b" * 20_000),
    "an overlong name": basic(b"app_" + b"a" * 61 + b":y"),
    "line breaks": basic(b"app_x\r\n:y\r\n"),
    "half an escape": basic(b"app_x:%"),
    "not ASCII": basic("приложение:секрет".encode()),
}
NO_BASIC = {
    "nothing": b"",
    "Bearer": b"Bearer",
    "Bearer and more": b"Bearer a b c",
    "Bearer, not ASCII": b"Bearer \xff\xfe",
    "Bearer, NUL": b"Bearer \x00",
    "Bearer, overlong": b"Bearer " + b"a" * 20_000,
    "Bearer that looks like ours": b"Bearer at_" + b"A" * 32 + b"." + b"A" * 43,
    "Bearer with a comma": b"Bearer a, Bearer b",
    "Bearer after a tabulator": b"Bearer\ta",
    "Digest": b'Digest username="x", uri="\xff"',
    "Negotiate": b"Negotiate YII=",
    "not ASCII": "Ключ".encode(),
    "only a comma": b",",
}


def all_addresses(target: Target) -> list[tuple[str, str, bytes, bytes]]:
    """Method, path, query and body of a request to each address, sound apart from its headers."""
    path, _, query = hosting.authorize_path(target.application).partition("?")
    pending = target.stranger().get(f"{path}?{query}").headers["Location"]
    form = encoded(target.code_fields("ac_x"))
    return [
        ("GET", path, query.encode(), b""),
        ("POST", path, b"", query.encode()),
        ("GET", path, urlsplit(pending).query.encode(), b""),
        ("POST", "/oauth/consent", b"", b"decision=allow"),
        ("POST", "/oauth/token", b"", form),
        ("POST", "/oauth/token", b"", form.replace(b"authorization_code", b"refresh_token")),
        ("GET", "/oauth/userinfo", b"", b""),
        ("POST", "/oauth/userinfo", b"", b"access_token=x"),
        ("POST", "/oauth/revoke", b"", b"token=x"),
        *(("GET", document, b"", b"") for document in DOCUMENTS),
        ("GET", "/logout", b"next=https://evil.example/", b""),
        ("POST", "/logout", b"", b"id_token_hint=x"),
        ("GET", "/sign-in", b"next=/", b""),
        ("POST", "/sign-in", b"", b"email=a&password=b"),
        ("GET", "/", b"", b""),
        ("GET", "/nowhere", b"", b""),
    ]


@pytest.mark.parametrize("name", HEADERS)
def test_every_header_may_hold_anything_at_every_address(target: Target, name: str) -> None:
    """It is answered as if it were sound, or refused; it never fails."""
    stranger = target.stranger()
    values = [*SPOILT.values(), *(CONTENT_TYPES if name == "Content-Type" else ())]
    for method, path, query, body in all_addresses(target):
        for value in values:
            response = send(stranger, method, path, query=query, body=body, headers={name: value})
            # With a Host that is no name at all, a request does not get as far as an address.
            refused = name == "Host" and response.status_code == 400
            if path in MACHINE and not refused:
                check_machine_answer(response, path)
            else:
                check_decency(response)
            assert b"evil.example" not in response.data
            assert "evil.example" not in response.headers.get("Location", "")


def test_cookies_that_are_not_ours_are_nobody_s(target: Target) -> None:
    """Garbage under the names of our cookies; a person behind it is simply not signed in."""
    sound = target.browser().get_cookie(target.app.config["SESSION_COOKIE_NAME"])
    assert sound is not None
    values = [
        *SPOILT.values(),
        b"1|" + "é".encode(),
        b"|",
        b"1|" + b"0" * 128,
        sound.value.encode()[:-1],
        b"." + sound.value.encode(),
        b".eJw\xff.x.y",
        b'"\\377\\376"',
        b"e30.aaaaaa.bbbbbb",
    ]
    names = [target.app.config[f"{kind}_COOKIE_NAME"] for kind in ("SESSION", "REMEMBER")]
    for name in names:
        for value in values:
            for method, path, query, body in all_addresses(target):
                response = send(
                    target.stranger(),
                    method,
                    path,
                    query=query,
                    body=body,
                    headers={"Cookie": name.encode() + b"=" + value},
                )
                if path in MACHINE:
                    check_machine_answer(response, path)
                else:
                    check_decency(response)
                assert target.person.name not in response.text


@pytest.mark.parametrize("kind", ["unreadable", "wrong", "other"])
def test_token_requests_with_a_spoilt_authorization_header_are_refused(
    target: Target, kind: str
) -> None:
    """`invalid_client` with a challenge; also where the body names a public application: what was
    meant as credentials never falls through to an application without any.
    """
    headers = {"unreadable": UNREADABLE_BASIC, "wrong": WRONG_BASIC, "other": NO_BASIC}[kind]
    browser = target.browser()
    code = target.new_code(browser, target.public)
    exchange = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": target.public.redirect_uri,
        "code_verifier": VERIFIER,
    }
    refresh = {"grant_type": "refresh_token", "refresh_token": "rt_x"}
    public = {"client_id": target.public.client_id}
    for what, value in headers.items():
        for fields in (exchange, refresh, {**exchange, **public}, {**refresh, **public}):
            if kind == "other" and "client_id" in fields:
                continue  # such a header is not looked at
            response = send(
                target.stranger(),
                "POST",
                "/oauth/token",
                body=encoded(fields),
                headers={"Authorization": value},
            )
            check_machine_answer(response, "/oauth/token")
            expected = {"invalid_client"}
            if "client_id" in fields:  # header and body name different clients
                expected.add("invalid_request")
            assert response.json["error"] in expected, what
    stray = {"Authorization": b"Bearer x"}
    sound = encoded({**exchange, **public})
    response = send(target.stranger(), "POST", "/oauth/token", body=sound, headers=stray)
    assert response.status_code == 200


def test_userinfo_with_a_spoilt_authorization_header_is_refused(target: Target) -> None:
    """401 with a challenge, which names an error only where a token was sent."""
    for headers in (UNREADABLE_BASIC, WRONG_BASIC, NO_BASIC):
        for what, value in headers.items():
            for method in ("GET", "POST"):
                response = send(
                    target.stranger(), method, "/oauth/userinfo", headers={"Authorization": value}
                )
                check_machine_answer(response, "/oauth/userinfo")
                assert response.status_code == 401, what
                challenge = response.headers["WWW-Authenticate"]
                sent = value.lower().startswith(b"bearer ") and value.strip() != b"Bearer"
                assert ('error="invalid_token"' in challenge) == sent, what


@pytest.mark.parametrize("content_type", CONTENT_TYPES)
def test_a_token_request_that_is_no_form_is_refused(target: Target, content_type: bytes) -> None:
    """`invalid_request`; what is a form in spite of a parameter or capitals is taken."""
    response = send(
        target.stranger(),
        "POST",
        "/oauth/token",
        body=encoded(target.refresh_fields("rt_x")),
        headers={"Content-Type": content_type},
    )
    check_machine_answer(response, "/oauth/token")
    is_form = content_type.partition(b";")[0].lower() == FORM.encode()
    assert response.json["error"] == ("invalid_grant" if is_form else "invalid_request")


@pytest.mark.parametrize("database_server", ["sqlite"], indirect=True)
def test_over_https_a_referrer_that_is_no_address_is_refused(database_url: str) -> None:
    """Flask-WTF reads the Referer of forms sent over https, and trusts it to be readable."""
    issuer = "https://localhost"
    app = hosting.make_host(database_url, IDSYNC_ISSUER=issuer)
    try:
        person = hosting.add_person(app)
        application = hosting.register_application(app)
        client = app.test_client()
        page = client.get("/sign-in", base_url=issuer)
        fields = hosting.hidden_fields(page.text)
        sign_in = {**fields, "email": person.email, "password": person.password}
        good = {"Referer": f"{issuer}/sign-in"}
        assert (
            client.post("/sign-in", base_url=issuer, data=sign_in, headers=good).status_code == 303
        )
        page = client.get(hosting.authorize_path(application), base_url=issuer)
        consent = {**hosting.hidden_fields(page.text), "decision": "allow"}
        for referrer in ("https://[", "https://localhost:abc/", "https://localhost:99999/", "é"):
            for path, form in (("/sign-in?next=/", sign_in), ("/oauth/consent", consent)):
                response = client.post(
                    path, base_url=issuer, data=form, headers={"Referer": referrer}
                )
                assert response.status_code == 400, (path, referrer)
    finally:
        hosting.close_host(app)
