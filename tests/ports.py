"""Ports of this machine for servers that are told theirs beforehand. Needs no pytest."""

import secrets
import socket
from contextlib import suppress

HOST = "127.0.0.1"
# Below what systems give to whoever asks for any port, a caller's end of a connection among them
# (Linux from 32768 on, others from 49152): so nobody gets it by chance before the server has it.
LOWEST, HIGHEST = 20_000, 32_000


def free_port() -> int:
    """A port on which nobody listens."""
    while True:
        port = LOWEST + secrets.randbelow(HIGHEST - LOWEST)
        with suppress(OSError), socket.create_server((HOST, port)):
            return port
