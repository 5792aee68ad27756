"""The account API as it runs in earnest: the examples of the docs, and readers that go away."""

import json
import os
import re
import socket
import struct
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from account_api.calling import ACCOUNTS, Service, register
from account_api.many import fill
from live import LiveHost, live_database, live_host
from receiver import wait_until

PAGE = (Path(__file__).parents[2] / "docs" / "account-api.md").read_text(encoding="utf-8")
MANY = 20_000  # more than the sockets of both sides hold
PATIENCE = 20  # seconds


@pytest.fixture(scope="module")
def host(
    database_server: str | None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveHost]:
    folder = tmp_path_factory.mktemp("host")
    with live_database(database_server, folder) as url, live_host(url, folder) as host:
        fill(host.app, MANY)
        yield host


@pytest.fixture
def service(host: LiveHost) -> Service:
    return register(host.app, "Wiki", "--service-tag", "wiki")


def test_the_examples_of_the_docs_work(host: LiveHost, service: Service) -> None:
    """Each curl, in the order of the page, says what stands below it."""
    examples = re.findall(r"^```sh\n(curl .+?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    services, whole, since, etag, created, changed = (run(one, host, service) for one in examples)
    assert services == {"services": [{"tag": "wiki", "name": "Wiki"}]}
    assert whole.keys() == {"accounts", "cursor", "complete"}
    assert whole["accounts"][0].keys() == example_account().keys()
    assert all("wiki" in account["tags"] for account in whole["accounts"])
    assert since["complete"] is True  # the cursor of the page is not of this directory
    assert etag["cursor"] == since["cursor"] == whole["cursor"]
    assert (created["existed"], created["id"]) == (False, "wiki-17")
    assert (changed["name"], changed["tags"]) == ("Ada King", ["mail"])


def example_account() -> dict[str, Any]:
    (listed,) = re.findall(r'^```json\n(\{\n  "accounts".+?)^```$', PAGE, re.MULTILINE | re.DOTALL)
    return dict(json.loads(listed)["accounts"][0])


def run(example: str, host: LiveHost, service: Service) -> dict[str, Any]:
    """What an example prints when it is typed in."""
    client_id, secret = service.client.basic
    done = subprocess.run(
        ["bash", "-c", example.replace("https://id.example.org", host.url)],
        env={**os.environ, "CLIENT_ID": client_id, "CLIENT_SECRET": secret},
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    return dict(json.loads(done.stdout))


def test_a_reader_that_hangs_up_leaves_nothing_behind(host: LiveHost, service: Service) -> None:
    """While it reads, a temporary file is open; when it is gone, none. The next one is served."""
    parts = urlsplit(host.url)
    wait_until(lambda: open_files(host) == 0)  # the list before this one may not be closed yet
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.connect(("127.0.0.1", parts.port))
        token = b64encode(":".join(service.client.basic).encode()).decode()
        reader.sendall(
            f"GET {ACCOUNTS} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
            f"Authorization: Basic {token}\r\n\r\n".encode()
        )
        begun = reader.recv(1024)
        assert b" 200 " in begun
        assert open_files(host) == 1
        answer = requests.get(host.url + ACCOUNTS, auth=service.client.basic, timeout=PATIENCE)
        assert len(answer.json()["accounts"]) >= MANY
        # Reset instead of an orderly goodbye, as a program that was killed.
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wait_until(lambda: open_files(host) == 0)
    answer = requests.get(host.url + ACCOUNTS, auth=service.client.basic, timeout=PATIENCE)
    assert len(answer.content) == int(answer.headers["Content-Length"])
    assert "Traceback" not in host.log.read_text()


def open_files(host: LiveHost) -> int:
    """Files without a name that the workers hold open, as temporary ones have none.

    Empty ones are gunicorn's own.
    """
    children = Path(f"/proc/{host.pid}/task/{host.pid}/children").read_text().split()
    found = 0
    for one in [file for child in children for file in Path(f"/proc/{child}/fd").iterdir()]:
        with suppress(FileNotFoundError):  # closed since it was listed
            name = str(one.readlink())
            temporary = name.startswith(gettempdir()) and name.endswith(" (deleted)")
            found += temporary and one.stat().st_size > 0
    return found
