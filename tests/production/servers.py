"""Servers of a test's own on free ports of this machine: PostgreSQL, Redis, nginx, hosts.

Nothing here needs pytest. What is killed or restarted here is nobody else's.
"""

import datetime as dt
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from live import FAREWELL, REPOSITORY, environment
from ports import free_port

DEPLOYMENT = REPOSITORY / "host_app" / "deployment"
PATIENCE = 60  # seconds until a server counts as not starting
# Debian keeps these out of the usual path.
BESIDES = ("/usr/sbin", *(f"/usr/lib/postgresql/{version}/bin" for version in range(20, 12, -1)))
POSTGRES = "postgres"  # it refuses to run as root


class DidNotStart(Exception):
    """The message is the server's own."""


def program(name: str) -> str | None:
    """Where a server's program is, if it is installed."""
    return shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), *BESIDES)))


def wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise DidNotStart(log.read_text(errors="replace"))


def end(process: subprocess.Popen[bytes]) -> None:
    """End a server and what it started."""
    process.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(FAREWELL)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def running(command: list[str], port: int, log: Path) -> Iterator[None]:
    """Run a server until the end of the block."""
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        wait_for_port(port, process, log)
        yield
    finally:
        end(process)


# --- PostgreSQL and Redis -------------------------------------------------------------------------


@dataclass(frozen=True)
class Cluster:
    """A PostgreSQL server of one's own, which can be restarted as after a power cut."""

    folder: Path
    port: int
    options: dict[str, Any]

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://{POSTGRES}@127.0.0.1:{self.port}/postgres"

    def run(self, name: str, *arguments: str) -> None:
        command = [str(program(name)), "--pgdata", str(self.folder / "data"), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **self.options)

    def control(self, *arguments: str) -> None:
        self.run("pg_ctl", "--wait", "--log", str(self.folder / "log"), *arguments)

    def cut_power(self) -> None:
        """Stop at once, without a word to anybody, and recover from the log of writes."""
        self.control("--mode", "immediate", "restart")


@contextmanager
def own_cluster() -> Iterator[Cluster]:
    """An empty cluster, removed at the end."""
    # Not below pytest's folders, which only their owner may enter.
    folder = Path(tempfile.mkdtemp(prefix="idsync-postgresql-"))
    options: dict[str, Any] = {"cwd": folder}
    if os.getuid() == 0:
        shutil.chown(folder, POSTGRES)
        options |= {"user": POSTGRES, "group": POSTGRES, "extra_groups": []}
    cluster = Cluster(folder, free_port(), options)
    try:
        cluster.run(
            "initdb", "--username", POSTGRES, "--auth", "trust", "--encoding", "UTF8", "--no-locale"
        )
        own = f"-p {cluster.port} -c listen_addresses=127.0.0.1 -k {folder}"
        cluster.control("--options", own, "start")
        try:
            yield cluster
        finally:
            cluster.control("--mode", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


@contextmanager
def own_redis(folder: Path) -> Iterator[str]:
    """The address of a Redis that keeps nothing."""
    port = free_port()
    command = [str(program("redis-server")), "--port", str(port), "--bind", "127.0.0.1"]
    with running([*command, "--save", "", "--dir", str(folder)], port, folder / "redis.log"):
        yield f"redis://127.0.0.1:{port}"


# --- nginx ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Nginx:
    """A running nginx with the file from the deployment folder. folder: its logs and the rest."""

    url: str
    certificate: Path
    folder: Path

    @property
    def logs(self) -> str:
        return "".join(file.read_text(errors="replace") for file in self.folder.glob("*.log"))


def own_configuration(folder: Path, port: int, hosts: list[int]) -> Path:
    """The deployment's file with names, ports and paths of this machine, in a whole configuration.

    Raises ValueError where the file has not what is to be replaced.
    """
    text = (DEPLOYMENT / "nginx.conf").read_text(encoding="utf-8")
    servers = "".join(f"server 127.0.0.1:{one} max_fails=1 fail_timeout=2s;\n" for one in hosts)
    for pattern, replacement in (
        (r"(?:^ *server [\d.]+:8000 max_fails=1 fail_timeout=2s;\n)+", servers),
        (r"listen 80;", f"listen 127.0.0.1:{free_port()};"),
        (r"listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;"),
        (r"id\.example\.org", "localhost"),
        (r"/etc/ssl/identity/", f"{folder}/"),
        (r"/var/log/nginx/", f"{folder}/"),
    ):
        text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
        if not count:
            raise ValueError(f"nginx.conf has no {pattern}")
    user = "user root;" if os.getuid() == 0 else ""
    kept = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file = folder / "nginx.conf"
    file.write_text(
        f"{user} daemon off; pid {folder}/pid; worker_processes 1;\n"
        f"error_log {folder}/nginx-error.log crit;\nevents {{}}\nhttp {{\n{kept}{text}}}\n"
    )
    return file


@contextmanager
def own_nginx(folder: Path, hosts: list[int], port: int) -> Iterator[Nginx]:
    """nginx before hosts on these ports. Raises DidNotStart, even where `nginx -t` only warns."""
    folder.mkdir()
    certificate = make_certificate(folder)
    file = own_configuration(folder, port, hosts)
    command = [str(program("nginx")), "-p", str(folder), "-c", str(file)]
    tested = subprocess.run([*command, "-t", "-q"], check=False, capture_output=True, text=True)
    if tested.returncode != 0 or tested.stderr:
        raise DidNotStart(tested.stderr)
    with running(command, port, folder / "output"):
        yield Nginx(f"https://localhost:{port}", certificate, folder)


def make_certificate(folder: Path) -> Path:
    """A certificate for localhost that vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "fullchain.pem"
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "privkey.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return file


# --- hosts ----------------------------------------------------------------------------------------


@dataclass
class Host:
    """A reference host under gunicorn with a folder of its own; it can be killed and started."""

    folder: Path
    settings: Mapping[str, Any]
    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self.folder / "gunicorn.log"

    def start(self) -> None:
        """Start, and wait until it is ready. Raises DidNotStart."""
        self.folder.mkdir(exist_ok=True)
        own = {"HOST_FOLDER": str(self.folder), "HOST_LOG": "json"}
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "gunicorn", "--config", "python:host_app.serving"),
                    *("--bind", f"127.0.0.1:{self.port}", "host_app:create_app()"),
                ],
                cwd=REPOSITORY,
                env=environment({**self.settings, **own}),
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        wait_for_port(self.port, self._process, self.log)
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with suppress(requests.RequestException):
                if requests.get(f"http://127.0.0.1:{self.port}/readyz", timeout=5).ok:
                    return
            time.sleep(0.1)
        raise DidNotStart(self.log.read_text(errors="replace"))

    def kill(self) -> None:
        """End all its processes at once, as when the machine fails."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            end(self._process)
