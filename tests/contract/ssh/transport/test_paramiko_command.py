"""One command over paramiko: a link that fell silent is noticed while it runs."""

from __future__ import annotations

import os

import pytest

from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.ssh.transport import paramiko_chain, paramiko_command
from scratchflow.ssh.transport.paramiko_command import FarCommand
from tests.contract.ssh.lab import Lab


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


def test_an_input_larger_than_any_window_goes_while_the_output_comes(shared_lab: Lab) -> None:
    shared_lab.write_config()
    content = os.urandom(3 << 20)
    with shared_lab.paramiko("login") as transport:
        command = FarCommand(
            transport._connected(), b"cat; exit 7", "login", stdin=content, hold_stdin=False
        )
        while command.step(1.0):
            pass
        assert bytes(command.stdout) == content
        assert command.returncode() == 7
        command.close()


def test_a_held_input_stays_open_until_the_command_is_let_go(shared_lab: Lab) -> None:
    shared_lab.write_config()
    with shared_lab.paramiko("login") as transport:
        command = FarCommand(
            transport._connected(),
            b"read line; echo $line; cat",
            "login",
            stdin=b"a\n",
            hold_stdin=True,
        )
        while not command.stdout:
            assert command.step(1.0)
        assert bytes(command.stdout) == b"a\n"
        assert not command._is_over()
        command.close()
        assert not command.step(0.0)


def test_a_signal_is_not_taken_for_a_lost_connection(shared_lab: Lab) -> None:
    shared_lab.write_config()
    with shared_lab.paramiko("login") as transport:
        command = FarCommand(
            transport._connected(), b"kill -9 $$", "login", stdin=b"", hold_stdin=False
        )
        while command.step(1.0):
            pass
        assert command.returncode() == -1
        command.close()
