"""A node counts as answering when it greets as an sshd does, and not before."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.model.errors.allocation import NodeFailed
from scratchflow.process.waiting import Clock
from scratchflow.ssh.keys.node_probe import scan_host_keys, wait_for_sshd

# Looks again at once.
IMPATIENT = Clock(sleep=lambda _: None)


@contextlib.contextmanager
def greeting(*greetings: bytes) -> Iterator[int]:
    """A host that greets each visitor with the next of these."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(20)

        def greet() -> None:
            for words in greetings:
                connection, _ = listener.accept()
                with connection:
                    connection.sendall(words)

        thread = threading.Thread(target=greet)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def test_an_sshd_that_comes_up_later_is_waited_for() -> None:
    with greeting(b"", b"HTTP/1.0 400\r\n", b"SSH-2.0-OpenSSH_9.2\r\n") as port:
        wait_for_sshd("127.0.0.1", port=port, clock=IMPATIENT)


def test_a_host_that_never_greets_as_an_sshd_is_not_one() -> None:
    with (
        greeting(b"220 smtp\r\n") as port,
        pytest.raises(NodeFailed, match="not an ssh server"),
    ):
        wait_for_sshd("127.0.0.1", port=port, within_s=0, clock=IMPATIENT)


def test_a_closed_port_is_told_with_the_systems_word() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(NodeFailed, match=r"127\.0\.0\.1.*refused"):
        wait_for_sshd("127.0.0.1", port=port, within_s=0, clock=IMPATIENT)


@pytest.mark.parametrize("node", ["a..b", "n" * 100])
def test_a_name_that_no_resolver_takes_is_an_error_in_words(node: str) -> None:
    with pytest.raises(NodeFailed, match="not a host name"):
        wait_for_sshd(node, within_s=0, clock=IMPATIENT)


def program(folder: Path, text: str) -> None:
    (folder / "ssh-keyscan").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "ssh-keyscan").chmod(0o755)


def test_keys_are_what_keyscan_prints_without_its_remarks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program(
        tmp_path, 'echo "# $*"; echo; echo "node-1 ssh-ed25519 AAAA"; printf "\\377\\n"; exit 1'
    )
    assert scan_host_keys("node-1") == ["node-1 ssh-ed25519 AAAA", "\ufffd"]


def test_a_name_is_never_an_option_of_keyscan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program(tmp_path, 'while [ "$1" != -- ]; do shift; done; echo "$2"')
    assert scan_host_keys("-f/etc/passwd") == ["-f/etc/passwd"]


def test_without_keyscan_there_are_no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert scan_host_keys("node-1") == []
