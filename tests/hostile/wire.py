"""Talking to a running host without a client library: bytes out, bytes in."""

import re
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from live import PATIENCE, LiveHost


@dataclass(frozen=True)
class Answer:
    """An answer as it came; status 0 where the connection was closed without one."""

    status: int
    head: str
    body: str


def talk(host: LiveHost, request: bytes, *, finish: bool = False) -> Answer:
    """Send these bytes and read until the server closes; `finish` ends our side first."""
    address = urlsplit(host.url)
    received = b""
    with socket.create_connection(("127.0.0.1", address.port or 0), PATIENCE) as connection:
        try:
            connection.sendall(request)
            if finish:
                connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65_536):
                received += part
        except (ConnectionResetError, BrokenPipeError):
            pass  # it may refuse without reading everything
    head, _, body = received.partition(b"\r\n\r\n")
    match = re.match(rb"HTTP/1\.[01] (\d{3})", head)
    status = int(match[1]) if match else 0
    return Answer(status, head.decode("latin-1"), body.decode("latin-1"))


def check_refusal(answer: Answer) -> None:
    """An answer below 500 or none, and nothing of our inside in it."""
    # 501 is gunicorn's for a transfer coding it does not know (RFC 9112 §6.1).
    assert answer.status < 500 or answer.status == 501, answer
    assert "Traceback" not in answer.body
    assert "host_app" not in answer.body
    assert "evil.example" not in answer.head


def check_alive(host: LiveHost) -> None:
    """The host still answers."""
    assert talk(host, get("/.well-known/openid-configuration")).status == 200


def get(target: str | bytes, *headers: bytes, host_header: bytes = b"Host: localhost") -> bytes:
    """A GET request that asks for the connection to be closed."""
    raw = target.encode() if isinstance(target, str) else target
    lines = [b"GET " + raw + b" HTTP/1.1", host_header, b"Connection: close", *headers]
    return b"\r\n".join([*lines, b"", b""])


def post(path: str, body: bytes, *headers: bytes) -> bytes:
    """A POST request; Content-Length is up to the caller."""
    lines = [
        f"POST {path} HTTP/1.1".encode(),
        b"Host: localhost",
        b"Connection: close",
        b"Content-Type: application/x-www-form-urlencoded",
        *headers,
    ]
    return b"\r\n".join([*lines, b"", body])


def length(body: bytes) -> bytes:
    return b"Content-Length: " + str(len(body)).encode()
