"""paramiko as a transport: one login for all commands, made again when it ended, lines cut where they end."""

from __future__ import annotations

import pytest

from scratchflow.model.errors.ssh import CommandTimedOut
from scratchflow.ssh.transport.base import STDERR_TAIL_BYTES
from tests.contract.ssh.lab import Lab

LIMIT_S = 60


def logins(lab: Lab) -> int:
    return lab.login.log().count("Accepted publickey")


def test_many_commands_log_in_once_and_a_closed_transport_logs_in_again(lab: Lab) -> None:
    with lab.paramiko("login") as transport:
        transport.connect()
        for _ in range(3):
            transport.run(["true"], timeout_s=LIMIT_S)
        assert logins(lab) == 1
        transport.close()
        transport.close()
        assert transport.run(["echo", "in"], timeout_s=LIMIT_S).stdout == b"in\n"
        assert logins(lab) == 2


def test_a_command_given_up_on_costs_the_next_one_nothing(lab: Lab) -> None:
    with lab.paramiko("login") as transport:
        with pytest.raises(CommandTimedOut, match=r"sleep"):
            transport.run(["sleep", "30"], timeout_s=0.2)
        assert transport.run(["echo", "in"], timeout_s=LIMIT_S).stdout == b"in\n"
        assert logins(lab) == 1


def test_lines_are_cut_at_their_ends_however_the_bytes_come(shared_lab: Lab) -> None:
    shared_lab.write_config()
    script = "printf 'a\\n\\nlo'; sleep 0.1; printf 'ng\\n\\0\\377\\r\\n'; printf 'half'"
    with shared_lab.paramiko("login") as transport, transport.stream(["sh", "-c", script]) as lines:
        assert list(lines) == [b"a", b"", b"long", b"\0\xff\r", b"half"]
        assert lines.returncode == 0
        assert list(lines) == []


def test_only_the_end_of_what_stderr_says_is_kept(shared_lab: Lab) -> None:
    shared_lab.write_config()
    script = "yes noise | head -c 300000 >&2; echo last >&2; echo out"
    with shared_lab.paramiko("login") as transport, transport.stream(["sh", "-c", script]) as lines:
        assert list(lines) == [b"out"]
        assert len(lines.stderr_tail) == STDERR_TAIL_BYTES
        assert lines.stderr_tail.endswith(b"last\n")


def test_it_says_the_way_that_it_takes(shared_lab: Lab) -> None:
    shared_lab.write_config()
    assert shared_lab.paramiko("node").describe() == "paramiko to node through login (as set)"
