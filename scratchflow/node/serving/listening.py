"""Whether a server listens where it was told to, and who else could reach it there."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec

_CONNECT_S = 5.0
_ANSWER_S = 10.0
FIRST_PAGE_S = 5.0
"""How long a program of which nothing is known may take to answer a first request."""
_LISTENING = "0A"
_LOOPBACK = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}


class Address(msgspec.Struct, frozen=True):
    """A unix socket, or a port on the loopback."""

    socket: str = ""
    port: int = 0

    def __str__(self) -> str:
        return f"`{self.socket}`" if self.socket else f"port {self.port}"


def free_port() -> int:
    """A port that nobody listens on now. Who takes it first is looked at afterwards, see `listens`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
        return number


def listens(address: Address, *, page: str = "") -> bool:
    """Whether somebody of this user listens there; with a `page`, whether a web server answers when asked for it.

    A port that somebody else was quicker to take does not count.
    """
    if address.port and not is_own_port(address.port):
        return False
    try:
        with connected(address) as connection:
            return not page or _answers(connection, page)
    except OSError:
        return False


def is_silent(address: Address) -> bool:
    """Whether a request for the first page gets no byte in a while. One who hangs up has answered, in its way."""
    try:
        with connected(address) as connection:
            _ask(connection, "/", FIRST_PAGE_S)
            connection.recv(1)
    except TimeoutError:
        return True
    except OSError:
        return False
    return False


def connected(address: Address) -> socket.socket:
    """A connection to it."""
    if address.port:
        return socket.create_connection(("127.0.0.1", address.port), timeout=_CONNECT_S)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(_CONNECT_S)
        connection.connect(address.socket)
    except OSError:
        connection.close()
        raise
    return connection


def _answers(connection: socket.socket, page: str) -> bool:
    _ask(connection, page, _ANSWER_S)
    return connection.recv(5) == b"HTTP/"


def _ask(connection: socket.socket, page: str, within_s: float) -> None:
    connection.settimeout(within_s)
    connection.sendall(f"GET {page} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())


def is_own_port(port: int) -> bool:
    """Whether a process of this user listens there; taken to be so where the system does not say."""
    listeners = list(_listeners(port))
    if not Path("/proc/net/tcp").exists():
        return True
    return any(uid == os.getuid() for _, uid in listeners)


def is_open_to_the_network(port: int) -> bool:
    """Whether it listens on more than the loopback: then other machines reach it, too."""
    return any(address not in _LOOPBACK for address, _ in _listeners(port))


def _listeners(port: int) -> Iterator[tuple[str, int]]:
    """The addresses, as the kernel writes them, and the users that listen on this port."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for fields in (line.split() for line in lines):
            address, _, number = fields[1].partition(":")
            if fields[3] == _LISTENING and int(number, 16) == port:
                yield address, int(fields[7])
