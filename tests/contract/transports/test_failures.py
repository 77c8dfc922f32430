"""What both ssh transports do when it goes wrong: the right error, soon, and never a question."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scratchflow.model.errors import (
    AuthNeeded,
    ConnectionLost,
    HostKeyChanged,
    HostKeyUnknown,
    ScratchflowError,
)
from scratchflow.ssh.transport import paramiko_chain, paramiko_command
from tests.contract.transports.lab import PASSPHRASE, Lab
from tests.contract.transports.sshd import Sshd, free_port, make_key

KINDS = pytest.mark.parametrize("kind", ["paramiko", "openssh"])
HOSTS = pytest.mark.parametrize("host", ["login", "node"])
LIMIT_S = 60


def connect(lab: Lab, kind: str, host: str) -> bytes:
    with lab.transport(kind, host) as transport:
        return transport.run(["echo", "in"], timeout_s=LIMIT_S).stdout


def refused(lab: Lab, kind: str, host: str, error: type[ScratchflowError]) -> ScratchflowError:
    """The error; and that it came soon, since nobody was waited for."""
    started = time.monotonic()
    with pytest.raises(error) as caught:
        connect(lab, kind, host)
    assert time.monotonic() - started < LIMIT_S
    assert caught.value.shown_hint
    return caught.value


def sshd_of(lab: Lab, host: str) -> Sshd:
    return lab.login if host == "login" else lab.node


@KINDS
@HOSTS
def test_a_changed_host_key_is_refused(lab: Lab, kind: str, host: str) -> None:
    sshd = sshd_of(lab, host)
    sshd.kill()
    sshd.new_host_key()
    sshd.start()
    for _ in range(2):
        error = refused(lab, kind, host, HostKeyChanged)
        assert str(sshd.port) in str(error)


@KINDS
def test_a_changed_key_is_refused_even_where_new_ones_are_accepted(lab: Lab, kind: str) -> None:
    lab.write_config("Host *\n  StrictHostKeyChecking accept-new\n")
    lab.known_hosts.write_text(lab.known_line(lab.login).replace(lab.login.public_key, OTHER_KEY))
    refused(lab, kind, "login", HostKeyChanged)


OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGCTeF3ZBNGXJZKbsSLK5c2LVGWMxgPWBQTdkk9Yt2pV"


@KINDS
@HOSTS
def test_an_unknown_host_key_is_refused(lab: Lab, kind: str, host: str) -> None:
    lab.known_hosts.write_text("" if host == "login" else lab.known_line(lab.login))
    refused(lab, kind, host, HostKeyUnknown)
    assert str(sshd_of(lab, host).port) not in lab.known_hosts.read_text()


@KINDS
def test_an_unknown_host_key_is_recorded_where_the_config_says_accept_new(
    lab: Lab, kind: str
) -> None:
    lab.known_hosts.write_text("")
    lab.write_config("Host *\n  StrictHostKeyChecking accept-new\n  HashKnownHosts no\n")
    assert connect(lab, kind, "node") == b"in\n"
    recorded = lab.known_hosts.read_text()
    assert lab.known_line(lab.login) in recorded
    assert lab.known_line(lab.node) in recorded
    other = {"paramiko": "openssh", "openssh": "paramiko"}[kind]
    lab.write_config("Host *\n  StrictHostKeyChecking yes\n")
    assert connect(lab, other, "node") == b"in\n"


@KINDS
def test_a_recorded_name_is_hashed_where_the_config_says_so(lab: Lab, kind: str) -> None:
    lab.known_hosts.write_text("")
    lab.write_config("Host *\n  StrictHostKeyChecking accept-new\n  HashKnownHosts yes\n")
    assert connect(lab, kind, "login") == b"in\n"
    assert lab.known_hosts.read_text().startswith("|1|")
    lab.write_config("Host *\n  StrictHostKeyChecking yes\n")
    for other in ("paramiko", "openssh"):
        assert connect(lab, other, "login") == b"in\n"


@KINDS
def test_a_revoked_host_key_is_refused(lab: Lab, kind: str) -> None:
    with lab.known_hosts.open("a") as file:
        file.write(f"@revoked * {lab.login.public_key}\n")
    refused(lab, kind, "login", HostKeyChanged)


@KINDS
def test_hashed_names_and_aliases_are_honoured(lab: Lab, kind: str) -> None:
    lab.write_config("Host node\n  HostKeyAlias aws-Node-1\n")
    lab.known_hosts.write_text(lab.known_line(lab.login) + f"aws-node-1 {lab.node.public_key}\n")
    command = ["ssh-keygen", "-q", "-H", "-f", str(lab.known_hosts)]
    subprocess.run(command, check=True, capture_output=True)
    assert connect(lab, kind, "node") == b"in\n"


@KINDS
def test_a_host_with_several_keys_shows_the_one_on_record(lab: Lab, kind: str) -> None:
    make_key(lab.directory / "rsa_host_key", kind="rsa", bits=2048)
    lab.login.kill()
    lab.login.options = [f"HostKey {lab.directory / 'rsa_host_key'}", "PasswordAuthentication no"]
    lab.login.start()
    rsa = " ".join((lab.directory / "rsa_host_key.pub").read_text().split()[:2])
    lab.known_hosts.write_text(f"[127.0.0.1]:{lab.login.port} {rsa}\n")
    assert connect(lab, kind, "login") == b"in\n"


@KINDS
@HOSTS
def test_a_host_that_is_down_is_said_to_be(lab: Lab, kind: str, host: str) -> None:
    sshd_of(lab, host).kill()
    refused(lab, kind, host, ConnectionLost)


@KINDS
def test_a_name_that_does_not_exist_is_said_to_be(lab: Lab, kind: str) -> None:
    lab.write_config("Host login\n  HostName no-such-host.invalid\n")
    error = refused(lab, kind, "login", ConnectionLost)
    assert "no connection to `login`" in str(error)


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


def test_a_silent_link_is_noticed_by_paramiko(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    # As 15 s and 30 s in life. ssh's own ServerAlive options do the same for the other transport.
    monkeypatch.setattr(paramiko_command, "ALIVE_INTERVAL_S", 0.2)
    real = paramiko_chain.Chain.answers
    monkeypatch.setattr(paramiko_chain.Chain, "answers", lambda chain, *_: real(chain, 1.0))
    with lab.paramiko("node") as transport:
        transport.connect()
        with transport.stream(["sleep", "1.5"]) as lines:
            assert list(lines) == []
            assert lines.returncode == 0
        with transport.stream(["sh", "-c", "echo one; exec sleep 40"]) as lines:
            assert next(lines) == b"one"
            lab.node.freeze()
            with pytest.raises(ConnectionLost, match="stopped answering"):
                list(lines)


def test_no_key_that_fits_is_exit_12(lab: Lab) -> None:
    make_key(lab.directory / "stranger")
    lab.write_config(key="stranger")
    for kind in ("paramiko", "openssh"):
        for host in ("login", "node"):
            assert refused(lab, kind, host, AuthNeeded).exit_code == 12


def test_a_locked_key_without_anybody_to_ask_is_exit_12(lab: Lab) -> None:
    lab.write_config(key="locked")
    error = refused(lab, "paramiko", "node", AuthNeeded)
    assert f"ssh-add {lab.directory / 'locked'}" in error.shown_hint
    refused(lab, "openssh", "node", AuthNeeded)


def test_a_passphrase_is_asked_for_once_for_all_hops(lab: Lab) -> None:
    lab.write_config(key="locked")
    asked: list[str] = []

    def ask(question: object) -> str:
        asked.append(str(question))
        return PASSPHRASE

    with lab.paramiko("node", ask) as transport:
        assert transport.run(["echo", "in"], timeout_s=LIMIT_S).stdout == b"in\n"
        lab.node.kill()
        lab.node.start()
        assert transport.run(["echo", "in"], timeout_s=LIMIT_S).stdout == b"in\n"
    assert len(asked) == 1
    assert str(lab.directory / "locked") in asked[0]


@pytest.mark.parametrize(("answer", "times"), [("wrong", 3), (None, 1)])
def test_a_passphrase_nobody_knows_is_exit_12(lab: Lab, answer: str | None, times: int) -> None:
    lab.write_config(key="locked")
    asked: list[object] = []

    def ask(question: object) -> str | None:
        asked.append(question)
        return answer

    with lab.paramiko("node", ask) as transport, pytest.raises(AuthNeeded):
        transport.connect()
    assert len(asked) == times


RSA = ["-t", "rsa", "-b", "2048"]


@pytest.mark.parametrize("form", [RSA, ["-t", "ecdsa"], [*RSA, "-m", "PEM"]])
@pytest.mark.parametrize("passphrase", ["", PASSPHRASE])
def test_every_common_kind_of_key_file_opens_the_door(
    shared_lab: Lab, form: list[str], passphrase: str, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    subprocess.run(
        ["ssh-keygen", "-q", *form, "-a", "2", "-N", passphrase, "-f", str(key)], check=True
    )
    shared_lab.write_config(f"Host login\n  IdentityFile {key}\n", key="no-such-key")
    with shared_lab.login.authorized_keys.open("a") as file:
        file.write(key.with_suffix(".pub").read_text())
    with shared_lab.paramiko("login", lambda _: PASSPHRASE) as transport:
        assert transport.run(["echo", "in"], timeout_s=LIMIT_S).stdout == b"in\n"


def test_a_closed_port_behind_the_login_host_names_the_node(lab: Lab) -> None:
    lab.write_config(f"Host node\n  Port {free_port()}\n")
    for kind in ("paramiko", "openssh"):
        assert "`node`" in str(refused(lab, kind, "node", ConnectionLost))
