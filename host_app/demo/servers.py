"""Two gunicorn servers under one roof: started, awaited and stopped together."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from types import FrameType, TracebackType
from urllib.parse import urlsplit

HOST = "127.0.0.1"
LONGEST_START = 60  # seconds
LONGEST_STOP = 5  # seconds


class StopRequest:
    """What a terminal or a supervisor sends to end a program, noted instead of obeyed at once.

    So that no moment is wrong: not between a server's start and our knowing of it, nor while we
    are stopping already.
    """

    def __init__(self) -> None:
        self.came = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.came = True


def is_free(port: int) -> bool:
    """Whether nobody listens on this port."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError:
            return False
    return True


class Server:
    """A gunicorn that serves `application` ("module:expression") while the block runs.

    environment is added to our own, options are gunicorn's.
    """

    def __init__(
        self, application: str, address: str, environment: dict[str, str], *options: str
    ) -> None:
        self.address = address
        self._command = [
            sys.executable, "-m", "gunicorn", "--config", "python:host_app.serving",
            "--bind", urlsplit(address).netloc, "--log-level", "warning", *options, application,
        ]  # fmt: skip
        # The two talk to each other: never through a proxy.
        self._environment = {**os.environ, **environment, "NO_PROXY": HOST, "no_proxy": HOST}

    def __enter__(self) -> Server:
        # In a session of its own: a Ctrl-C at the terminal is for us, and we stop it in order.
        self._process = subprocess.Popen(  # noqa: S603
            self._command, env=self._environment, start_new_session=True
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.send_signal(signal.SIGINT)  # gunicorn's quick end; SIGTERM is the slow one
        try:
            self._process.wait(LONGEST_STOP)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def answers(self, stop: StopRequest) -> bool:
        """Wait for the first answer; False when the server ended instead, or took too long."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        deadline = time.monotonic() + LONGEST_START
        while not stop.came and self.runs() and time.monotonic() < deadline:
            try:
                with opener.open(self.address, timeout=5):
                    return True
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        return False

    def runs(self) -> bool:
        """Whether the server has not ended."""
        return self._process.poll() is None
