"""What every transport promises: the same bytes, codes and limits, wherever the command runs."""

from __future__ import annotations

import hashlib
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.model.errors.ssh import CommandTimedOut
from scratchflow.reach.node import JobStep, NodeSsh
from scratchflow.reach.node_watch import NodeWatch
from scratchflow.ssh.transport.base import Transport
from scratchflow.ssh.transport.local import LocalTransport
from tests.contract.ssh.lab import Lab

WAYS = [
    "local",
    "paramiko login",
    "paramiko node",
    "openssh login",
    "openssh node",
    "plain login",
    "plain node",
    "step",
    "watched step",
    "ssh to the node",
]
LIMIT_S = 60


@pytest.fixture(scope="module", params=WAYS)
def transport(request: pytest.FixtureRequest, shared_lab: Lab) -> Iterator[Transport]:
    with transport_by(request.param, shared_lab) as transport:
        yield transport


def transport_by(way: str, lab: Lab) -> Transport:
    if way == "local":
        return LocalTransport()
    if way == "ssh to the node":
        return lab.node_ssh()
    if way.endswith("step"):
        step = lab.job_step()
        return NodeWatch(step, lambda: step.allocation) if way == "watched step" else step
    kind, _, host = way.partition(" ")
    return lab.transport(kind, host)


def python(program: str, *words: str) -> list[str]:
    return [sys.executable, "-c", program, *words]


def test_output_errors_and_code_come_back_apart(transport: Transport) -> None:
    done = transport.run(["sh", "-c", "echo out; echo err >&2; exit 7"], timeout_s=LIMIT_S)
    assert (done.returncode, done.stdout, done.stderr) == (7, b"out\n", b"err\n")


@pytest.mark.parametrize("code", [0, 1, 254, 255])
def test_every_code_is_the_commands_own(transport: Transport, code: int) -> None:
    assert transport.run(["sh", "-c", f"exit {code}"], timeout_s=LIMIT_S).returncode == code


def test_a_signal_is_told_by_a_code_of_its_own(transport: Transport) -> None:
    """A negative one, except on the way to a node: `srun` and a plain `ssh` say no more than this."""
    done = transport.run(["sh", "-c", "kill -9 $$"], timeout_s=LIMIT_S)
    less = {JobStep: 128 + 9, NodeWatch: 128 + 9, NodeSsh: 255}
    assert done.returncode < 0 or done.returncode == less.get(type(transport))
    assert transport.run(["true"], timeout_s=LIMIT_S).returncode == 0


def test_a_missing_program_is_127(transport: Transport) -> None:
    assert transport.run(["no-such-program-here"], timeout_s=LIMIT_S).returncode == 127
    with transport.stream(["no-such-program-here"]) as lines:
        assert list(lines) == []
        assert lines.returncode == 127
        assert lines.stderr_tail


def test_binary_input_comes_back_unchanged(transport: Transport) -> None:
    data = bytes(range(256)) * 17 + b"\r\n\0\xff"
    done = transport.run(["cat"], stdin=data, timeout_s=LIMIT_S)
    assert done.stdout == data


def test_no_input_is_an_empty_input(transport: Transport) -> None:
    assert transport.run(["cat"], timeout_s=LIMIT_S).stdout == b""


def test_ten_megabytes_pass_both_ways(transport: Transport) -> None:
    data = random.Random(1).randbytes(10_000_000)  # noqa: S311 - repeatable on purpose
    done = transport.run(["tee", "/dev/stderr"], stdin=data, timeout_s=LIMIT_S)
    assert done.stdout == data
    assert done.stderr == data


def test_input_that_nobody_reads_does_no_harm(transport: Transport) -> None:
    done = transport.run(["sh", "-c", "echo x"], stdin=b"y" * 5_000_000, timeout_s=LIMIT_S)
    assert done.stdout == b"x\n"
    assert transport.run(["true"], timeout_s=LIMIT_S).returncode == 0


def test_a_feed_follows_the_input_as_it_comes(transport: Transport) -> None:
    data = random.Random(2).randbytes(5_000_000)  # noqa: S311 - repeatable on purpose
    parts = [data[start : start + 700_001] for start in range(0, len(data), 700_001)]
    with_pauses = (part for each in parts for part in (b"", each))
    program = "import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
    with transport.stream(python(program), stdin=b"begun", feed=with_pauses) as lines:
        assert list(lines) == [hashlib.sha256(b"begun" + data).hexdigest().encode()]


def test_a_feed_that_nobody_reads_ends_with_the_command(transport: Transport) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield bytes(1 << 16)

    with transport.stream(["sh", "-c", "echo x"], feed=endless(), hold_stdin=True) as lines:
        assert list(lines) == [b"x"]
    assert transport.run(["true"], timeout_s=LIMIT_S).returncode == 0


def test_a_stream_is_closed_while_it_is_fed(transport: Transport) -> None:
    taken: list[int] = []

    def endless() -> Iterator[bytes]:
        while True:
            taken.append(1)
            yield bytes(1 << 16)

    # It never reads, and ends when nobody reads what it says.
    talks = "echo x; while echo y; do sleep 0.1; done 2>/dev/null"
    with transport.stream(["sh", "-c", talks], feed=endless()) as lines:
        assert next(lines) == b"x"
    count = len(taken)
    assert count < 1000  # what is not read waits here, and not in memory
    assert transport.run(["true"], timeout_s=LIMIT_S).returncode == 0
    assert len(taken) == count


def test_output_that_is_longer_than_memory_should_hold_comes_line_by_line(
    transport: Transport,
) -> None:
    program = "for number in range(300): print(str(number % 10) * 100_000)"
    with transport.stream(python(program)) as lines:
        assert sum(len(line) for line in lines) == 30_000_000


HOSTILE = [
    "; touch CANARY",
    "$(touch CANARY)",
    "`touch CANARY`",
    "a && touch CANARY",
    "| touch CANARY",
    "'; touch CANARY; '",
    '"; touch CANARY; "',
    "a\ntouch CANARY\n",
    "-x",
    "--",
    "*",
    "~",
    "$HOME",
    "!!",
    "\\",
    "\\'",
    "#",
    "",
    " ",
    "\t",
    "\x1b[2J",
    "é",
    "a\udcffb\udc80",
    "%h",
]


def test_hostile_words_arrive_as_they_are(transport: Transport, tmp_path: Path) -> None:
    words = [word.replace("CANARY", str(tmp_path / "canary")) for word in HOSTILE]
    program = "import os, sys; sys.stdout.buffer.write(b'\\0'.join(map(os.fsencode, sys.argv[1:])))"
    done = transport.run(python(program, *words), timeout_s=LIMIT_S)
    assert done.stdout.split(b"\0") == [os.fsencode(word) for word in words]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("argv", [[], [""], ["-x"], ["a\0b"], ["a", "\0"]])
def test_what_is_no_command_is_a_mistake(transport: Transport, argv: list[str]) -> None:
    with pytest.raises(ValueError, match="not a command"):
        transport.run(argv, timeout_s=LIMIT_S)


def test_a_command_that_takes_too_long_is_given_up(transport: Transport) -> None:
    started = time.monotonic()
    with pytest.raises(CommandTimedOut, match="sleep 30"):
        transport.run(["sleep", "30"], timeout_s=0.5)
    assert time.monotonic() - started < 25
    assert transport.run(["echo", "on"], timeout_s=LIMIT_S).stdout == b"on\n"


def test_lines_come_as_they_are_printed(transport: Transport) -> None:
    program = (
        "import sys\n"
        "print('ready', flush=True)\n"
        "print('got ' + sys.stdin.readline(), end='', flush=True)\n"
        "print('bad', file=sys.stderr)\n"
        "print('no end', end='')\n"
        "sys.exit(3)"
    )
    with transport.stream(python(program), stdin=b"request\n") as lines:
        assert next(lines) == b"ready"
        assert lines.returncode is None
        assert list(lines) == [b"got request", b"no end"]
        assert lines.returncode == 3
        assert lines.stderr_tail == b"bad\n"


def test_many_lines_and_much_noise_pass(transport: Transport) -> None:
    program = (
        "import sys\n"
        "for n in range(20000): print(n)\n"
        "sys.stderr.write('e' * 1000000)\n"
        "print('x' * 3000000)"
    )
    with transport.stream(python(program)) as lines:
        got = list(lines)
    assert got[:20000] == [str(number).encode() for number in range(20000)]
    assert len(got[20000]) == 3_000_000
    assert lines.returncode == 0
    assert lines.stderr_tail == b"e" * 65536


def test_a_stream_of_bytes_that_are_no_text(transport: Transport) -> None:
    with transport.stream(["cat"], stdin=b"\xff\xfe\0\r\nrest") as lines:
        assert list(lines) == [b"\xff\xfe\0\r", b"rest"]


def test_a_closed_stream_ends_a_command_that_watches_its_input(
    transport: Transport, tmp_path: Path
) -> None:
    program = (
        "import pathlib, sys\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline(); sys.stdin.read()\n"
        "pathlib.Path(sys.argv[1]).write_text('ended')"
    )
    note = tmp_path / "note"
    with transport.stream(python(program, str(note)), stdin=b"go\n", hold_stdin=True) as lines:
        assert next(lines) == b"ready"
        assert not note.exists()
    deadline = time.monotonic() + LIMIT_S
    while not note.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert note.exists()
    assert transport.run(["true"], timeout_s=LIMIT_S).returncode == 0


def test_a_closed_stream_breaks_the_pipe_of_a_talkative_command(
    transport: Transport, tmp_path: Path
) -> None:
    note = tmp_path / "note"
    program = (
        "import pathlib, sys, time\n"
        "try:\n"
        "    while True: print('line', flush=True); time.sleep(0.02)\n"
        "except BrokenPipeError: pathlib.Path(sys.argv[1]).touch(); sys.stdout = None"
    )
    with transport.stream(python(program, str(note))) as lines:
        assert next(lines) == b"line"
    deadline = time.monotonic() + LIMIT_S
    while not note.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert note.exists()


def test_it_says_what_it_is_and_why(transport: Transport) -> None:
    assert "(" in transport.describe()
