"""Load on a server on this machine, and what that costs it: time, CPU and memory.

Nothing here needs pytest. CPU and memory are read from /proc, so this is for Linux.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

REPOSITORY = Path(__file__).parents[2]
TICK = 1 / os.sysconf("SC_CLK_TCK")
PATIENCE = 60  # seconds

Script = Generator[bytes, bytes, None]
"""Yields HTTP requests and is sent the body of each answer."""


@dataclass(frozen=True)
class Cost:
    """Of one request: time as its caller saw it, CPU as the kernel counted it, in seconds."""

    per_second: float
    p50: float
    p99: float
    service: float
    database: float | None
    memory: int

    @property
    def cpu(self) -> float:
        """Of service and database together."""
        return self.service + (self.database or 0)


class Caller:
    """One kept connection."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rest = b""

    def ask(self, request: bytes) -> tuple[int, bytes]:
        self._socket.sendall(request)
        while b"\r\n\r\n" not in self._rest:
            self._receive()
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        status, length = int(head.split(b" ", 2)[1]), _content_length(head)
        while len(self._rest) < length:
            self._receive()
        body, self._rest = self._rest[:length], self._rest[length:]
        return status, body

    def close(self) -> None:
        self._socket.close()

    def _receive(self) -> None:
        received = self._socket.recv(65536)
        if not received:
            raise ConnectionError("The server closed the connection.")
        self._rest += received


def _content_length(head: bytes) -> int:
    (length,) = (
        line.partition(b":")[2]
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length:")
    )
    return int(length)


def call(port: int, script: Script, status: int) -> list[float]:
    """Run a script; how long each answer took."""
    caller, times = Caller(port), []
    try:
        request = next(script)
        while True:
            begun = time.perf_counter()
            answered, body = caller.ask(request)
            times.append(time.perf_counter() - begun)
            if answered != status:
                raise AssertionError(f"{answered}: {body.decode()}")
            request = script.send(body)
    except StopIteration:
        return times
    finally:
        caller.close()


def measure(
    port: int, scripts: Iterable[Script], workers: list[int], backends: list[int], status: int = 200
) -> Cost:
    """Run the scripts at the same time, each on a connection of its own."""
    scripts = list(scripts)
    service, database = cpu_of(workers), cpu_of(backends)
    begun = time.perf_counter()
    with ThreadPoolExecutor(len(scripts)) as threads:
        running = [threads.submit(call, port, script, status) for script in scripts]
        times = [one for each in running for one in each.result()]
    passed = time.perf_counter() - begun
    percentiles = quantiles(times, n=100)
    return Cost(
        per_second=len(times) / passed,
        p50=percentiles[49],
        p99=percentiles[98],
        service=(cpu_of(workers) - service) / len(times),
        database=(cpu_of(backends) - database) / len(times) if backends else None,
        memory=sum(map(memory_of, workers)),
    )


def cpu_of(processes: Iterable[int]) -> float:
    """Seconds of CPU that processes have used."""
    used = 0
    for pid in processes:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        used += int(fields[11]) + int(fields[12])  # utime, stime: proc(5)
    return used * TICK


def memory_of(pid: int) -> int:
    """Bytes of memory, pages shared with other processes in proportion."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no Pss")


def children_of(pid: int) -> list[int]:
    """The workers of a gunicorn."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextmanager
def floor_under(database_url: str, folder: Path) -> Iterator[tuple[int, int]]:
    """Serve `floor` as the host is served; its port and gunicorn's process id."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with (folder / "floor.log").open("wb") as log:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "gunicorn", "--config", "python:host_app.serving"),
                    *("--workers", "2", "--bind", f"fd://{listening.fileno()}"),
                    *("--pythonpath", str(Path(__file__).parent), "floor:application"),
                ],
                cwd=REPOSITORY,
                env={**os.environ, "FLOOR_DATABASE": database_url},
                pass_fds=[listening.fileno()],
                stdout=log,
                stderr=log,
            )
    try:
        deadline = time.monotonic() + PATIENCE
        while len(children_of(process.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(PATIENCE)
