"""A command carried by a child process: every line comes, and nothing of it outlives a closed stream."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from scratchflow.model.errors.ssh import CommandTimedOut
from scratchflow.ssh.transport.base import STDERR_TAIL_BYTES
from scratchflow.ssh.transport.child import ChildStream, run_carried


def stream(*argv: str, stdin: bytes = b"", hold_stdin: bool = False) -> ChildStream:
    return ChildStream(argv, stdin=stdin, hold_stdin=hold_stdin)


def test_a_time_out_names_the_command_and_the_host_not_the_carrier() -> None:
    with pytest.raises(CommandTimedOut) as caught:
        run_carried("node-1", ["backup", "now"], ["sleep", "30"], stdin=None, timeout_s=0.05)
    assert "backup now" in str(caught.value)
    assert "node-1" in str(caught.value)
    assert "sleep" not in str(caught.value)


def test_lines_come_without_their_ends_and_a_last_half_one_too() -> None:
    with stream("printf", "a\\n\\nb\\r\\nhalf") as lines:
        assert list(lines) == [b"a", b"", b"b\r", b"half"]
        assert lines.returncode == 0
        assert list(lines) == []


def test_a_large_input_and_a_large_output_do_not_block_each_other() -> None:
    content = (b"x" * 999 + b"\n") * 2000
    with stream("cat", stdin=content) as lines:
        assert sum(len(line) + 1 for line in lines) == len(content)


def test_a_command_that_reads_nothing_is_no_error() -> None:
    with stream("true", stdin=b"x" * 1_000_000) as lines:
        assert list(lines) == []
        assert lines.returncode == 0


def test_only_the_end_of_stderr_is_kept() -> None:
    with stream("sh", "-c", "yes noise | head -c 200000 >&2; echo last >&2; exit 3") as lines:
        assert list(lines) == []
        assert (lines.returncode, len(lines.stderr_tail)) == (3, STDERR_TAIL_BYTES)
        assert lines.stderr_tail.endswith(b"last\n")


def test_a_held_input_ends_when_the_stream_is_closed(tmp_path: Path) -> None:
    note = tmp_path / "ended"
    lines = stream("sh", "-c", f"echo up; cat >/dev/null; touch {note}", hold_stdin=True)
    assert next(lines) == b"up"
    assert not note.exists()
    lines.close()
    assert note.exists()


@pytest.mark.slow
def test_closing_ends_a_command_that_looks_at_neither_pipe() -> None:
    deaf = "import os, signal, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)"
    lines = stream(sys.executable, "-c", deaf)
    pid = int(next(lines))
    lines.close()
    lines.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not any(thread.is_alive() for thread in lines._threads)
    assert list(lines) == []


def test_giving_up_wakes_the_one_who_waits_for_a_line() -> None:
    lines = stream("sleep", "60")
    waker = threading.Timer(0.02, lines.give_up)
    waker.start()
    assert list(lines) == []
    waker.join()
    lines.close()
    assert lines.returncode


def test_what_the_end_means_is_asked_once_and_closing_is_told() -> None:
    told: list[object] = []

    def meaning(code: int, stderr: bytes) -> int:
        told.append((code, stderr))
        return code + 1

    with ChildStream(
        ["sh", "-c", "echo why >&2; exit 4"],
        stdin=b"",
        hold_stdin=False,
        at_end=meaning,
        at_close=lambda: told.append("closed"),
    ) as lines:
        assert list(lines) == []
        assert lines.returncode == 5
    assert told == [(4, b"why\n"), "closed"]
