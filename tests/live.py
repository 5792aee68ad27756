"""The reference host as it runs in earnest: gunicorn, two workers, a real port on this machine.

Nothing here needs pytest. Commands and direct looks at the database go through `LiveHost.app`, the
same host in this process; a person's browser is a `requests.Session`.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import requests
from flask import Flask

import databases
import hosting

REPOSITORY = Path(__file__).parents[1]
PATIENCE = 30  # seconds until an answer counts as missing
FAREWELL = 10  # seconds that gunicorn gets to stop


class HostDidNotStart(Exception):
    """gunicorn ended, or nothing answered; the message has its log."""


@dataclass(frozen=True)
class LiveHost:
    """A running host. `app` is the same host in this process, `log` what gunicorn wrote."""

    url: str
    app: Flask
    log: Path
    pid: int


@contextmanager
def live_database(server: str | None, folder: Path) -> Iterator[str]:
    """A database of one's own, on the kind of server that the fixture `database_server` gives."""
    if server is None:
        yield databases.sqlite_url(folder)
        return
    with databases.postgresql_database() as url:
        yield url


@contextmanager
def live_host(
    database_url: str, folder: Path, *, reached_through: str | None = None, **settings: Any
) -> Iterator[LiveHost]:
    """Run the host on this database, and stop it and all its children at the end.

    reached_through: the database's address for the running host, where that is another one.
    settings: of the host, over those of `hosting.configuration`. Raises HostDidNotStart.
    """
    # The socket is bound here and inherited, so that nobody can take the port in between.
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        # localhost, because cookies and issuers treat it like any other name.
        url = f"http://localhost:{port}"
        config = hosting.configuration(database_url, IDSYNC_ISSUER=url, **settings)
        app = hosting.make_host(database_url, **config)
        given = {**config, "SQLALCHEMY_DATABASE_URI": reached_through or database_url}
        log = folder / f"gunicorn-{port}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "gunicorn", "--config", "python:host_app.serving"),
                    *("--workers", "2", "--bind", f"fd://{listening.fileno()}"),
                    "host_app:create_app()",
                ],
                cwd=REPOSITORY,
                env=environment(given),
                pass_fds=[listening.fileno()],
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
    try:
        _await_answer(url, log)
        yield LiveHost(url, app, log, process.pid)
    finally:
        _stop(process)
        hosting.close_host(app)


def environment(config: Mapping[str, Any]) -> dict[str, str]:
    """The environment of this process, with these settings instead of any others for Flask."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FLASK_", "GUNICORN_"))
    }
    given = {f"FLASK_{name}": json.dumps(value) for name, value in config.items()}
    del given["FLASK_TESTING"]  # in earnest
    return {**inherited, **given}


def _await_answer(url: str, log: Path) -> None:
    """Wait for the first answer: the socket listens already, so that one request is enough."""
    try:
        answer = requests.get(url + "/.well-known/openid-configuration", timeout=PATIENCE)
        answer.raise_for_status()
    except requests.RequestException as error:
        raise HostDidNotStart(f"{error}\n{log.read_text(errors='replace')}") from error


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(FAREWELL)
    # Its workers are in its process group; one that outlived it is not waited for.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


# --- a person's browser ------------------------------------------------------------------------


def visit(browser: requests.Session, address: str) -> requests.Response:
    """Open an address and follow redirects on its site; the first answer that leaves is given."""
    return _follow(browser, browser.get(address, allow_redirects=False, timeout=PATIENCE))


def submit(
    browser: requests.Session,
    page: requests.Response,
    fields: Mapping[str, str],
    *,
    post_to: str | None = None,
) -> requests.Response:
    """Fill in a page's form, send it to the page's own address or `post_to`, follow as above."""
    answer = browser.post(
        urljoin(page.url, post_to or ""),
        data={**hosting.hidden_fields(page.text), **fields},
        headers={"Referer": page.url},
        allow_redirects=False,
        timeout=PATIENCE,
    )
    return _follow(browser, answer)


def authorize(
    browser: requests.Session, address: str, person: hosting.Person, decision: str = "allow"
) -> str:
    """Go through authorize as a person would, and give the address the application is called at."""
    answer = visit(browser, address)
    if 'name="password"' in answer.text:
        answer = submit(browser, answer, {"email": person.email, "password": person.password})
    if 'name="decision"' in answer.text:
        answer = submit(browser, answer, {"decision": decision}, post_to="/oauth/consent")
    location = answer.headers.get("Location")
    if location is None:
        raise AssertionError(f"{answer.url} answered {answer.status_code}: {answer.text}")
    return location


def _follow(browser: requests.Session, answer: requests.Response) -> requests.Response:
    for _ in range(10):
        location = answer.headers.get("Location", "")
        if not location.startswith("/"):
            return answer
        address = urljoin(answer.url, location)
        answer = browser.get(address, allow_redirects=False, timeout=PATIENCE)
    raise AssertionError(f"The redirects do not end: {location}")
