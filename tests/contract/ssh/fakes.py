"""States that real programs cannot be brought into: a token in the agent, a second factor."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scratchflow.ssh.transport.paramiko_library import load_paramiko

load_paramiko()  # without its warnings, which here would be errors
import paramiko  # noqa: E402
from paramiko.common import (  # noqa: E402
    AUTH_FAILED,
    AUTH_PARTIALLY_SUCCESSFUL,
    AUTH_SUCCESSFUL,
)
from paramiko.server import InteractiveQuery  # noqa: E402


def field(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


@contextmanager
def agent_with_a_token(path: Path) -> Iterator[None]:
    """An agent that holds one FIDO key and signs nothing."""
    blob = field(b"sk-ssh-ed25519@openssh.com") + field(b"k" * 32) + field(b"ssh:")
    answer = b"\x0c" + struct.pack(">I", 1) + field(blob) + field(b"a token")
    with _listener(path) as listener:

        def serve(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError):
                while head := connection.recv(4):
                    request = connection.recv(int.from_bytes(head, "big"))
                    connection.sendall(field(answer if request[:1] == b"\x0b" else b"\x05"))

        with _serving(listener, serve):
            yield


class SecondFactor(paramiko.ServerInterface):
    """Wants a key and then a code, or only a code, or a password."""

    def __init__(self, *, first: str, code: str) -> None:
        self._first = first
        self._code = code
        self._has_key = first != "publickey"

    def get_allowed_auths(self, username: str) -> str:
        del username
        return (
            "keyboard-interactive" if self._has_key and self._first != "password" else self._first
        )

    def check_auth_publickey(self, username: str, key: Any) -> int:
        del username, key
        self._has_key = True
        return int(AUTH_PARTIALLY_SUCCESSFUL)

    def check_auth_password(self, username: str, password: str) -> int:
        del username
        right = password == self._code
        return int(AUTH_SUCCESSFUL if right else AUTH_FAILED)

    def check_auth_interactive(self, username: str, submethods: str) -> Any:
        del username, submethods
        return InteractiveQuery("Login", "Use your phone.", ("Code: ", False))

    def check_auth_interactive_response(self, responses: list[str]) -> int:
        right = responses == [self._code]
        return int(AUTH_SUCCESSFUL if right else AUTH_FAILED)


@contextmanager
def host_with_second_factor(host_key: Path, *, first: str, code: str) -> Iterator[int]:
    """A server on loopback that lets nobody run anything; yields its port."""
    key = paramiko.Ed25519Key.from_private_key_file(str(host_key))
    transports: list[Any] = []

    def serve(connection: socket.socket) -> None:
        transport = paramiko.Transport(connection)
        transports.append((transport, connection))
        transport.daemon = True
        transport.add_server_key(key)
        with contextlib.suppress(Exception):
            transport.start_server(server=SecondFactor(first=first, code=code))

    with _listener(None) as listener, _serving(listener, serve):
        yield listener.getsockname()[1]
    for transport, connection in transports:
        transport.close()
        connection.close()
        transport.join(5)


@contextmanager
def _listener(path: Path | None) -> Iterator[socket.socket]:
    family = socket.AF_UNIX if path else socket.AF_INET
    with socket.socket(family) as listener:
        listener.bind(str(path) if path else ("127.0.0.1", 0))
        listener.listen()
        yield listener


@contextmanager
def _serving(listener: socket.socket, serve: Any) -> Iterator[None]:
    workers: list[threading.Thread] = []

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                worker = threading.Thread(target=serve, args=(connection,), daemon=True)
                workers.append(worker)
                worker.start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)
        for worker in workers:
            worker.join(5)
