"""The processes of a session are found, and those of others are not."""

from __future__ import annotations

import os
import subprocess

from scratchflow.process.session import processes_of_sessions


def test_those_that_a_command_started_belong_to_its_session() -> None:
    script = "sleep 600 & echo $!; exec sleep 600"
    leader = subprocess.Popen(
        ["sh", "-c", script], start_new_session=True, stdout=subprocess.PIPE, text=True
    )
    assert leader.stdout
    child = int(leader.stdout.readline())
    try:
        assert processes_of_sessions({leader.pid}) == {leader.pid: leader.pid, child: leader.pid}
        leader.kill()
        leader.wait()
        assert processes_of_sessions({leader.pid}) == {child: leader.pid}
    finally:
        leader.kill()
        os.kill(child, 9)
        leader.stdout.close()


def test_without_a_session_nobody_is_meant() -> None:
    assert processes_of_sessions(()) == {}
