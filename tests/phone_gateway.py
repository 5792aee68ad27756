"""A gateway for text messages on this machine, as a service would be configured to use."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENCE = 10  # seconds


class Gateway(ThreadingHTTPServer):
    """Keeps what it was sent: the messages, and the Authorization headers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.address = f"http://127.0.0.1:{self.server_port}/send"
        self.status = 202
        self.location = ""
        self.messages: list[dict[str, str]] = []
        self.tokens: list[str | None] = []

    def wait_for(self, number: int) -> dict[str, str]:
        """The message with this number, counted from 1; messages are sent beside requests."""
        deadline = time.monotonic() + PATIENCE
        while len(self.messages) < number:
            if time.monotonic() > deadline:
                raise AssertionError(f"{len(self.messages)} messages came, not {number}.")
            time.sleep(0.01)
        return self.messages[number - 1]


class _Handler(BaseHTTPRequestHandler):
    server: Gateway

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.tokens.append(self.headers["Authorization"])
        self.server.messages.append(json.loads(body))
        self.send_response(self.server.status)
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.end_headers()

    def do_GET(self) -> None:
        """What urllib makes of a POST that it is redirected by."""
        self.server.tokens.append(self.headers["Authorization"])
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def running_gateway() -> Iterator[Gateway]:
    """A gateway that answers until the end of the block."""
    with Gateway() as gateway:
        thread = threading.Thread(target=gateway.serve_forever)
        thread.start()
        try:
            yield gateway
        finally:
            gateway.shutdown()
            thread.join()
