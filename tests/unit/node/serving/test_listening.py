"""Whether a server listens, and who else may reach it."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
from pathlib import Path

import pytest

from scratchflow.node.serving import listening
from scratchflow.node.serving.listening import (
    Address,
    free_port,
    is_open_to_the_network,
    is_own_port,
    is_silent,
    listens,
)


def test_a_socket_counts_when_it_can_be_connected_to() -> None:
    with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as server:
        address = Address(f"{directory}/s")
        assert not listens(address)
        server.bind(address.socket)
        assert not listens(address)
        server.listen()
        assert listens(address)
    assert str(address) == f"`{directory}/s`"


@pytest.mark.parametrize(
    ("said", "answers"), [(b"HTTP/1.0 302 Found\r\n", True), (b"SSH-2.0\r\n", False)]
)
def test_a_web_server_counts_when_it_answers(said: bytes, answers: bool) -> None:
    with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{directory}/s")
        server.listen()

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        assert listens(Address(f"{directory}/s"), page="/") is answers
        thread.join()


def test_a_port_counts_when_its_listener_is_this_users(monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    address = Address(port=port)
    assert not listens(address)
    with socket.socket() as server:
        server.bind(("127.0.0.1", port))
        server.listen()
        assert listens(address)
        monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
        assert not is_own_port(port)
        assert not listens(address)
    assert str(address) == f"port {port}"


@pytest.mark.parametrize(("host", "is_open"), [("127.0.0.1", False), ("0.0.0.0", True)])  # noqa: S104 - what is told apart
def test_a_port_on_every_address_is_told_apart(host: str, is_open: bool) -> None:
    with socket.socket() as server:
        server.bind((host, 0))
        server.listen()
        assert is_open_to_the_network(server.getsockname()[1]) is is_open


def test_where_the_system_does_not_say_a_port_is_taken_for_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "Path", lambda _: tmp_path / "missing")
    assert is_own_port(1)


@pytest.mark.parametrize(("said", "silent"), [(b"SSH-2.0\r\n", False), (b"", False), (None, True)])
def test_one_that_listens_and_says_nothing_is_silent(
    monkeypatch: pytest.MonkeyPatch, said: bytes | None, silent: bool
) -> None:
    monkeypatch.setattr(listening, "FIRST_PAGE_S", 0.2 if said is None else 60.0)
    with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{directory}/s")
        server.listen()

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                if said is None:
                    connection.recv(1000)  # until the other one gives up
                else:
                    connection.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        assert is_silent(Address(f"{directory}/s")) is silent
        thread.join()


def test_nobody_there_is_not_silent(tmp_path: Path) -> None:
    assert not is_silent(Address(str(tmp_path / "s")))
