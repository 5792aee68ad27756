"""`python -m host_app.demo`, as `nox -s demo` runs it."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from host_app.demo.servers import HOST, is_free
from ports import free_port

REPOSITORY = Path(__file__).parents[2]
PATIENCE = 60  # seconds


@contextmanager
def demo(folder: Path, service: int, application: int) -> Iterator[subprocess.Popen[str]]:
    """The demo in a process group of its own, as at a terminal; its scratch goes into `folder`."""
    ports = [f"--service-port={service}", f"--application-port={application}"]
    process = subprocess.Popen(
        [sys.executable, "-m", "host_app.demo", *ports],
        cwd=REPOSITORY,
        # A shell set up for a real service: none of it may reach the demo.
        env={
            **os.environ,
            "TMPDIR": str(folder),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "FLASK_SQLALCHEMY_DATABASE_URI": "postgresql://nobody@127.0.0.1:1/precious",
            "FLASK_IDSYNC_ISSUER": "https://id.example.org",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.communicate(timeout=PATIENCE)


def test_it_starts_says_how_to_use_it_and_stops(tmp_path: Path) -> None:
    """By Ctrl-C or a supervisor, and again on the same ports; no process and no file is left."""
    ports = free_port(), free_port()
    for end in (signal.SIGINT, signal.SIGTERM):
        with demo(tmp_path, *ports) as process:
            assert process.stdout is not None
            said = ""
            while "Ctrl-C" not in said:
                line = process.stdout.readline()
                assert line, process.communicate()[1]
                said += line
            assert f"http://{HOST}:{ports[0]}" in said
            assert "ada@example.org" in said
            assert "demo-ada" in said
            arrival = requests.get(f"http://{HOST}:{ports[1]}/sign-in", timeout=PATIENCE)
            assert arrival.url.startswith(f"http://{HOST}:{ports[0]}/sign-in?next=")
            os.killpg(process.pid, end)
            out, errors = process.communicate(timeout=PATIENCE)
            assert (process.returncode, out.strip(), errors) == (0, "Stopped.", "")
        assert all(is_free(port) for port in ports)
        assert list(tmp_path.iterdir()) == []


def test_a_taken_port_is_named_before_anything_is_started(tmp_path: Path) -> None:
    with socket.create_server((HOST, 0)) as taken:
        application = taken.getsockname()[1]
        with demo(tmp_path, free_port(), application) as process:
            out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert out == ""
    assert f"In use already: {HOST}:{application}." in errors
    assert "--application-port" in errors
    assert list(tmp_path.iterdir()) == []
