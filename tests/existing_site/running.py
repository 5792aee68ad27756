"""The old site in a folder of its own, run as its operator runs it: commands and gunicorn."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool
from werkzeug.security import generate_password_hash

from existing_site import guide
from existing_site.browser import LONGEST_WAIT, Browser, Wiki, over_http

SITE = Path(__file__).parent / "site"
CHEAP_SCRYPT = "scrypt:1024:8:1"
# For speed; not one of the guide's edits. The fewest iterations that are accepted.
CHEAP_HASHES = "IDSYNC_PBKDF2_ITERATIONS = 10_000\n"
# The Python that the site runs with: `nox -s wheel` gives one that has only the built wheel.
PYTHON = os.environ.get("IDSYNC_SITE_PYTHON", sys.executable)
MAKE_KEY = [PYTHON, "-c", "import secrets; print(secrets.token_urlsafe(32))"]

PEOPLE = {
    "ada@example.org": "Ada Lovelace",
    "Grace@example.org": "Grace Hopper",
    "grace@example.org": "Grace Kelly",
    **{f"rower{number}@example.org": f"Rower {number}" for number in range(197)},
}


def password_of(mail: str) -> str:
    """The password each of the people had before idsync."""
    return f"old password of {mail}"


class OldSite:
    """A copy of the site on an empty database. Its port is kept from the beginning."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.folder = folder
        self.browsers: list[requests.Session] = []
        shutil.copytree(SITE, folder)
        self._engine = create_engine(database_url, poolclass=NullPool)
        self._listener = socket.create_server(("127.0.0.1", 0))
        host, port = self._listener.getsockname()
        self.address = f"http://{host}:{port}"
        # Nothing of the tests' own environment may configure the site.
        self._environment = {
            **{name: value for name, value in os.environ.items() if "FLASK" not in name},
            "SECRET_KEY": "as secret as ever",
            "DATABASE_URL": database_url,
            "PYTHONDONTWRITEBYTECODE": "1",
            # A server stopped at once leaves its sockets to the system.
            "PYTHONWARNINGS": "error,ignore::ResourceWarning",
        }

    def close(self) -> None:
        for session in self.browsers:
            session.close()
        self._listener.close()

    def add_people(self) -> None:
        """Fill the site's own tables, as years of use have."""
        people = [
            {
                "name": name,
                "mail": mail,
                "hash": generate_password_hash(password_of(mail), CHEAP_SCRYPT),
            }
            for mail, name in PEOPLE.items()
        ]
        with self._engine.begin() as connection:
            connection.execute(
                text(
                    "INSERT INTO users (full_name, mail, password_hash) "
                    "VALUES (:name, :mail, :hash)"
                ),
                people,
            )
            connection.execute(
                text(
                    "INSERT INTO notes (user_id, text) SELECT id, 'The boat is mended.' "
                    "FROM users WHERE full_name = 'Ada Lovelace'"
                )
            )

    def execute(self, statement: str, **values: object) -> list[tuple[object, ...]]:
        """Run a statement on the site's database."""
        with self._engine.begin() as connection:
            result = connection.execute(text(statement), values)
            return [tuple(row) for row in result] if result.returns_rows else []

    def follow_the_guide(self) -> list[str]:
        """Apply its edits, run its commands; give what each of them printed."""
        text = guide.GUIDE.read_text(encoding="utf-8")
        for edit in guide.edits(text):
            edit.apply(self.folder)
        with (self.folder / "oldsite" / "config.py").open("a") as config:
            config.write(CHEAP_HASHES)
        self._environment |= {
            "IDSYNC_ISSUER": self.address,
            "IDSYNC_TOKEN_KEYS": f'["{_make_key()}"]',
            "IDSYNC_SEALING_KEYS": f'["{_make_key()}"]',
        }
        return [self.run(*command) for command in guide.commands(text)]

    def run(self, program: str, *arguments: str, input_text: str = "") -> str:
        """Run `flask …` in the site's folder."""
        assert program == "flask"
        finished = subprocess.run(
            [PYTHON, "-m", "flask", "--app", "oldsite", *arguments],
            cwd=self.folder,
            env=self._environment,
            input=input_text,
            capture_output=True,
            text=True,
            check=False,
        )
        assert finished.returncode == 0, finished.stdout + finished.stderr
        return finished.stdout

    @contextmanager
    def served(self) -> Iterator[None]:
        """Run the site's server. The listening socket is ours: requests wait until it is up."""
        configuration = self.folder / "gunicorn.conf.py"
        configuration.write_text(
            f"bind = 'fd://{self._listener.fileno()}'\nthreads = 4\ncontrol_socket_disable = True\n"
        )
        log = self.folder / "gunicorn.log"
        with (
            log.open("a") as output,
            subprocess.Popen(
                [PYTHON, "-m", "gunicorn", "oldsite:create_app()"],
                cwd=self.folder,
                env=self._environment,
                pass_fds=[self._listener.fileno()],
                stdout=output,
                stderr=output,
            ) as server,
        ):
            try:
                requests.get(f"{self.address}/login", timeout=LONGEST_WAIT)
                yield
            except Exception as error:
                error.add_note(log.read_text())
                raise
            finally:
                server.send_signal(signal.SIGQUIT)  # at once; SIGTERM would wait for idle browsers
        assert "Traceback" not in log.read_text(), log.read_text()

    def browser(self) -> Browser:
        """A browser without cookies."""
        session = requests.Session()
        self.browsers.append(session)
        return Browser(self.address, over_http(session), session.cookies.clear_session_cookies)

    def wiki(self, client_id: str, client_secret: str) -> Wiki:
        """The application that the guide registers."""
        session = requests.Session()
        self.browsers.append(session)
        return Wiki.discover(
            over_http(session),
            self.address,
            client_id=client_id,
            client_secret=client_secret,
            redirect_uri="https://wiki.example.org/callback",
        )


def _make_key() -> str:
    """A key, made with the guide's own command."""
    assert f'python3 -c "{MAKE_KEY[2]}"' in guide.GUIDE.read_text(encoding="utf-8")
    return subprocess.run(MAKE_KEY, capture_output=True, text=True, check=True).stdout.strip()
