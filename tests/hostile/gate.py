"""How a database goes away: connections ended from inside, or a gate before it that is shut.

The server itself is shared with other tests and stays as it is.
"""

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from ports import free_port

CHUNK = 65_536  # bytes


class Gate:
    """Relays connections on `port` of this machine to a server, while it is open."""

    def __init__(self, server: tuple[str, int]) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listening: socket.socket | None = None
        self.port = free_port()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.shut()

    def open(self) -> None:
        """Accept connections, on the same port as before."""
        self._listening = socket.create_server(("127.0.0.1", self.port))
        self._start(self._accept, self._listening)

    def shut(self) -> None:
        """Cut every connection; new ones are refused."""
        listening, self._listening = self._listening, None
        if listening is not None:
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)  # wakes accept up
        self.cut()
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def cut(self) -> None:
        """Cut every connection there is now."""
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _accept(self, listening: socket.socket) -> None:
        with listening:
            while True:
                try:
                    inside, _ = listening.accept()
                except OSError:
                    return
                self._start(self._serve, inside)

    def _serve(self, inside: socket.socket) -> None:
        with inside, socket.create_connection(self._server) as outside:
            with self._lock:
                self._connections |= {inside, outside}
            back = threading.Thread(target=self._pump, args=(outside, inside))
            back.start()
            self._pump(inside, outside)
            back.join()
            with self._lock:
                self._connections -= {inside, outside}

    def _pump(self, source: socket.socket, drain: socket.socket) -> None:
        """Pass on what comes until either side has enough; then the other one has too."""
        with suppress(OSError):
            while data := source.recv(CHUNK):
                drain.sendall(data)
        for end in (source, drain):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _start(self, work: object, connection: socket.socket) -> None:
        thread = threading.Thread(target=work, args=(connection,))  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()


def terminate_connections(url: str) -> None:
    """End every other connection to this database, as a restart of the server would."""
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
    engine.dispose()
