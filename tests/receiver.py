"""An application's back-channel address: a real HTTP server that keeps what it is sent.

Nothing here needs pytest.
"""

import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from joserfc import jwt
from joserfc.jwk import KeySet

PATIENCE = 30  # seconds until a token counts as missing


@dataclass
class Receiver:
    """What arrived, and how to answer: a status, after so many seconds."""

    url: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0
    requests: list[tuple[str, str, dict[str, str], str]] = field(default_factory=list)

    def tokens(self) -> list[str]:
        """The logout tokens, in the order in which they came."""
        return [parse_qs(body)["logout_token"][0] for *_, body in self.requests]

    def await_tokens(self, count: int) -> list[str]:
        """The same, when there are so many."""
        wait_until(lambda: len(self.requests) >= count)
        return self.tokens()


def wait_until(reached: Callable[[], bool]) -> None:
    """Wait for something to happen."""
    deadline = time.monotonic() + PATIENCE
    while not reached():
        if time.monotonic() > deadline:
            raise AssertionError("It did not happen.")
        time.sleep(0.02)


@contextmanager
def receiver(certificate: tuple[Path, Path] | None = None, **behaviour: Any) -> Iterator[Receiver]:
    """Run a receiver on a port of this machine; with a certificate and its key, over https."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            made.requests.append((self.command, self.path, dict(self.headers), body))
            time.sleep(made.delay)
            self.send_response(made.status)
            for name, value in made.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST  # noqa: N815 - the name the server looks for

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_: object) -> None:
            """Whoever called may have been killed."""

    server = Quiet(("127.0.0.1", 0), Handler)
    scheme = "http"
    if certificate is not None:
        scheme, context = "https", ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    made = Receiver(f"{scheme}://127.0.0.1:{server.server_port}/logged-out?a=1", **behaviour)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()


def read(token: str, jwks: Any) -> Any:
    """A logout token, its signature checked with the published keys."""
    return jwt.decode(token, KeySet.import_key_set(jwks), algorithms=["RS256", "ES256"])
