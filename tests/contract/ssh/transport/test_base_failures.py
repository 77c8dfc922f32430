"""What both ssh transports do when a connection fails or breaks: the right error, soon, and never a question."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from scratchflow.model.errors.ssh import ConnectionLost, HostNotFound, KeyRefused
from tests.contract.ssh.failing import HOSTS, KINDS, LIMIT_S, refused, sshd_of
from tests.contract.ssh.lab import Lab
from tests.contract.ssh.sshd import free_port, make_key


@KINDS
@HOSTS
def test_a_host_that_is_down_is_said_to_be(lab: Lab, kind: str, host: str) -> None:
    sshd_of(lab, host).kill()
    refused(lab, kind, host, ConnectionLost)


@KINDS
def test_a_name_that_does_not_exist_is_said_to_be(lab: Lab, kind: str) -> None:
    lab.write_config("Host login\n  HostName no-such-host.invalid\n")
    error = refused(lab, kind, "login", HostNotFound)
    assert "cannot find a host named `login`" in str(error)


@KINDS
def test_a_host_that_knows_none_of_our_keys_is_said_to_refuse_them(lab: Lab, kind: str) -> None:
    make_key(lab.directory / "stranger")
    lab.write_config("Host login\n  IdentitiesOnly yes\n", key="stranger")
    error = refused(lab, kind, "login", KeyRefused)
    assert error.exit_code == 12
    assert "ssh-copy-id login" in error.shown_hint


@KINDS
def test_something_that_is_no_sshd_is_said_to_be(lab: Lab, kind: str) -> None:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        lab.write_config(f"Host login\n  Port {port}\n")

        def greet() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")

        greeter = threading.Thread(target=greet)
        greeter.start()
        refused(lab, kind, "login", ConnectionLost)
        greeter.join()


@KINDS
@HOSTS
def test_a_connection_killed_while_a_command_runs_is_lost(lab: Lab, kind: str, host: str) -> None:
    with lab.transport(kind, host) as transport:
        note = lab.directory / "running"
        sshd = sshd_of(lab, host)
        killer = threading.Thread(target=when(note.exists, sshd.kill))
        killer.start()
        started = time.monotonic()
        with pytest.raises(ConnectionLost):
            transport.run(["sh", "-c", f"touch {note}; exec sleep 40"], timeout_s=LIMIT_S)
        assert time.monotonic() - started < 35
        killer.join()
        sshd.start()
        assert transport.run(["echo", "again"], timeout_s=LIMIT_S).stdout == b"again\n"


@KINDS
def test_a_connection_killed_while_lines_come_is_lost(lab: Lab, kind: str) -> None:
    command = ["sh", "-c", "echo Permission denied >&2; echo one; echo -n hal; exec sleep 40"]
    with lab.transport(kind, "node") as transport, transport.stream(command) as lines:
        assert next(lines) == b"one"
        lab.login.kill()
        with pytest.raises(ConnectionLost):
            list(lines)


def when(condition: Callable[[], bool], act: Callable[[], None]) -> Callable[[], None]:
    def wait_and_act() -> None:
        deadline = time.monotonic() + 20
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.02)
        act()

    return wait_and_act


def test_a_closed_port_behind_the_login_host_names_the_node(lab: Lab) -> None:
    lab.write_config(f"Host node\n  Port {free_port()}\n")
    for kind in ("paramiko", "openssh"):
        assert "`node`" in str(refused(lab, kind, "node", ConnectionLost))
