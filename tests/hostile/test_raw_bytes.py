"""Requests no client library would send, byte by byte to a running host: no failure, no trace."""

from collections.abc import Iterator

import pytest

import databases
import hosting
from hostile.target import VERIFIER, encoded
from hostile.wire import check_alive, check_refusal, get, length, post, talk
from live import LiveHost, live_host


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveHost]:
    """On SQLite: what is tried here ends before any database."""
    folder = tmp_path_factory.mktemp("raw")
    with live_host(databases.sqlite_url(folder), folder) as running:
        yield running


@pytest.fixture(scope="module")
def application(host: LiveHost) -> hosting.Client:
    return hosting.register_application(host.app)


@pytest.fixture(autouse=True)
def _no_failure_is_recorded(host: LiveHost) -> Iterator[None]:
    """Nothing a stranger sends is an error of ours."""
    before = host.log.stat().st_size
    yield
    recorded = host.log.read_bytes()[before:].decode(errors="replace")
    for sign in ("Traceback", "[ERROR]", "[CRITICAL]", "Exception on"):
        assert sign not in recorded, recorded


def sound_body(application: hosting.Client) -> bytes:
    """An exchange of a code that does not exist: understood, and refused with `invalid_grant`."""
    return encoded(
        {
            "grant_type": "authorization_code",
            "code": "ac_x",
            "redirect_uri": application.redirect_uri,
            "code_verifier": VERIFIER,
            "client_id": application.client_id,
            "client_secret": application.client_secret or "",
        }
    )


@pytest.mark.parametrize(
    "target",
    [
        b"/\xff\xfe",
        b"/%ff%fe",
        b"/oauth/\xc3",
        b"/oauth/token\x00",
        b"/oauth/token%00",
        b"/\x7f",
        b"/?next=\xff",
        b"/sign-in?next=\xff\xfe",
        b"/sign-in?\xff=\xfe",
        b"/sign-in?next=%ff%00",
        b"/oauth/authorize?client_id=\xff",
        b"/oauth/authorize?\x00",
        b"/oauth/authorize?pending=\xff.\xff",
        b"/oauth/userinfo?access_token=\xff",
        b"/oauth/jwks?\xff",
        b"/.well-known/openid-configuration?\xff",
        b"/oauth/static/\xff",
        b"/oauth/static/%00",
        b"/oauth/static/..%2f..%2f..%2fetc/passwd",
        b"/static/../../../../etc/passwd",
        b"//evil.example/%2e%2e",
        b"//evil.example/sign-in",
        b"http://evil.example/",
        b"http://evil.example/oauth/authorize?client_id=x",
        b"https://[",
        b"*",
        b"sign-in",
        b"",
        b"/ HTTP/1.1 HTTP/1.1",
        b"/" + b"a" * 9000,
        b"/oauth/authorize?state=" + b"a" * 9000,
        b"/sign-in?next=/" + b"%41" * 2000,
    ],
)
def test_odd_addresses_are_refused(host: LiveHost, target: bytes) -> None:
    """Bytes that are no text, addresses that are none, and too long ones."""
    check_refusal(talk(host, get(target)))
    check_alive(host)


@pytest.mark.parametrize(
    ("target", "statuses"),
    [
        # gunicorn 27 refuses raw bytes itself; older ones leave it to us.
        (b"/oauth/authorize?client_id=\xff", (400,)),
        (b"/oauth/userinfo?access_token=\xff", (400, 401)),
        (b"/oauth/jwks?\xff", (200, 400)),
        (b"/sign-in?next=\xff", (400,)),
        (b"/oauth/authorize?client_id=%ff", (400,)),
        (b"/oauth/userinfo?access_token=%ff", (401,)),
        (b"/oauth/jwks?%ff", (200,)),
        (b"/sign-in?next=%ff", (200,)),
        (b"/" + b"a" * 9000, (400, 414)),
        (b"/nowhere", (404,)),
    ],
)
def test_bytes_that_are_no_text_get_the_documented_answer(
    host: LiveHost, target: bytes, statuses: tuple[int, ...]
) -> None:
    """As they do without a server in between."""
    assert talk(host, get(target)).status in statuses


@pytest.mark.parametrize(
    "header",
    [
        b"Host: \xff\xfe",
        b"Host: ",
        b"Host: evil.example@localhost",
        b"Host: " + b"a" * 70,
        b"Host: a..b",
        b"Host: [::1",
        b"Host: localhost:99999999",
        b"Host: a\r\nHost: b",
        b"X: without a host",
    ],
)
def test_odd_hosts_are_refused_or_not_looked_at(
    host: LiveHost, application: hosting.Client, header: bytes
) -> None:
    """The issuer is what the configuration says, never what a request says."""
    for path in ("/", "/sign-in", hosting.authorize_path(application), "/oauth/userinfo"):
        answer = talk(host, get(path, host_header=header))
        check_refusal(answer)
    document = talk(host, get("/.well-known/openid-configuration", host_header=header))
    check_refusal(document)
    if document.status == 200:
        assert f'"issuer": "{host.url}"' in document.body
    check_alive(host)


@pytest.mark.parametrize(
    "header",
    [
        b"Authorization: Basic \xff\xfe",
        b"Authorization: Basic YTpi\r\nAuthorization: Basic YTpi",
        b"Authorization: Bearer \x00",
        b"Authorization:\x0bBearer x",
        b"Authorization: Bearer " + b"a" * 7000,
        b"Authorization: Bearer " + b"a" * 70_000,
        b"Authorization : Bearer x",
        b"Authorization: Bearer x\r\n folded",
        b"Cookie: identity_remember=1|\xc3\xa9",
        b"Cookie: identity_session=\xff; identity_session=\xfe",
        b"Cookie: " + b"a=b; " * 1500,
        b"Accept-Language: \xff;q=\xff, *;q=9e999",
        b"Referer: http://[::1",
        b"Range: bytes=-1",
        b"If-Modified-Since: \xff",
        b"Expect: 100-continue",
        b"Expect: nonsense",
        b"Upgrade: websocket\r\nConnection: upgrade",
        b"\xff: \xfe",
        b": nameless",
        b"no colon",
        b"X-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https",
        b"\r\n".join(b"X-%d: y" % number for number in range(200)),
    ],
)
def test_odd_headers_are_refused_or_not_looked_at(
    host: LiveHost, application: hosting.Client, header: bytes
) -> None:
    """At pages and at machine endpoints."""
    for path in ("/", hosting.authorize_path(application), "/oauth/userinfo", "/oauth/jwks"):
        check_refusal(talk(host, get(path, header)))
    check_alive(host)


def test_a_chunked_body_is_read_like_any_other(host: LiveHost, application: hosting.Client) -> None:
    """In one piece or byte by byte."""
    body = sound_body(application)
    for pieces in ([body], [bytes([byte]) for byte in body]):
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
        chunked = post("/oauth/token", chunks + b"0\r\n\r\n", b"Transfer-Encoding: chunked")
        answer = talk(host, chunked)
        assert (answer.status, '"invalid_grant"' in answer.body) == (400, True), answer
    check_alive(host)


@pytest.mark.parametrize(
    ("header", "body"),
    [
        (b"Transfer-Encoding: chunked", b"zz\r\nabc\r\n0\r\n\r\n"),
        (b"Transfer-Encoding: chunked", b"-1\r\na\r\n0\r\n\r\n"),
        (b"Transfer-Encoding: chunked", b"ffffffffffffffffff\r\na"),
        (b"Transfer-Encoding: chunked", b"5\r\nab"),
        (b"Transfer-Encoding: chunked", b""),
        (b"Transfer-Encoding: gzip, chunked", b"1\r\na\r\n0\r\n\r\n"),
        (b"Transfer-Encoding: nonsense", b"a=b"),
        (b"Transfer-Encoding: chunked\r\nContent-Length: 3", b"a=b"),
        (b"Content-Length: 100", b"a=b"),
        (b"Content-Length: 0", b"grant_type=x"),
        (b"Content-Length: 1", b"grant_type=x"),
        (b"Content-Length: -1", b"a=b"),
        (b"Content-Length: +3", b"a=b"),
        (b"Content-Length: 3, 3", b"a=b"),
        (b"Content-Length: 3\r\nContent-Length: 4", b"a=b"),
        (b"Content-Length: abc", b"a=b"),
        (b"Content-Length: \xb2", b"a=b"),
        (b"Content-Length: 99999999999999999999999", b"a=b"),
        (b"X: no length", b"a=b"),
    ],
)
def test_bodies_that_are_not_as_long_as_they_say(
    host: LiveHost, header: bytes, body: bytes
) -> None:
    """Chunks that are none, and every wrong Content-Length, with our side ended after it."""
    for path in ("/oauth/token", "/oauth/userinfo", "/oauth/authorize", "/sign-in"):
        check_refusal(talk(host, post(path, body, header), finish=True))
    check_alive(host)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_larger_than_the_limit_is_refused(host: LiveHost, chunked: bool) -> None:
    """413 for programs as JSON, a page for people; also where no length is told beforehand."""
    for path, statuses in {
        "/oauth/token": (413,),
        "/oauth/userinfo": (413,),
        "/oauth/authorize": (400,),
        "/sign-in": (400, 413),
        "/oauth/consent": (400, 413),
    }.items():
        body = b"a=" + b"b" * 200_000
        if chunked:
            pieces = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
            request = post(path, pieces, b"Transfer-Encoding: chunked")
        else:
            request = post(path, body, length(body))
        answer = talk(host, request)
        check_refusal(answer)
        # A server that has answered may close before it has read everything; then no answer may
        # reach us at all.
        assert answer.status in (*statuses, 0), path
        if answer.status and path in ("/oauth/token", "/oauth/userinfo"):
            assert '"error": "invalid_request"' in answer.body
            assert "access-control-allow-origin: *" in answer.head.lower()
    check_alive(host)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x00" * 100,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\xab" * 200,
        b"GET /\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"get / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"G\xc3\x89T / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"TRACE /oauth/token HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/1.1\nHost: localhost\nConnection: close\n\n",
        b"POST /oauth/token",
        b"",
    ],
)
def test_what_is_hardly_http_is_refused(host: LiveHost, request_bytes: bytes) -> None:
    """Or answered; and the next visitor does not notice."""
    check_refusal(talk(host, request_bytes, finish=True))
    check_alive(host)
