"""A carried command has our input, output and signals; a carrier that dies is not taken for its end."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scratchflow.process.carried import Marked

# What `run` does, with a shell of this machine as the far end. The last line of stderr is the outcome.
PROGRAM = """
import os, sys
from scratchflow.process.carried import carry
from scratchflow.process.far_words import followed_argv, kill_argv
directory, carrier, *command = sys.argv[1:]
token = "0123456789abcdef"
words = followed_argv(token, os.fsencode(directory), b"", [os.fsencode(word) for word in command])
outcome = carry(
    [*carrier.split(), *words], token, kill=kill_argv, environment=os.environ,
)
known = (outcome.started, outcome.code, outcome.no_directory, outcome.noise, outcome.carrier_code)
if outcome.unwritten:
    os.write(2, f"\\n{outcome.unwritten}".encode())
os.write(2, f"\\n{known}".encode())
"""


def start(directory: Path, *command: str, carrier: str = "env") -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(directory), carrier, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run(
    directory: Path, *command: str, stdin: bytes = b"", carrier: str = "env"
) -> tuple[bytes, bytes, object]:
    with start(directory, *command, carrier=carrier) as process:
        out, err = process.communicate(stdin)
    said, _, outcome = err.rpartition(b"\n")
    return out, said, eval(outcome)  # noqa: S307 - our own words


def ended(code: int) -> tuple[bool, int, bool, bytes, int]:
    return (True, code, False, b"", 0)


def test_output_and_errors_stay_apart_and_the_code_is_the_commands(tmp_path: Path) -> None:
    found = run(tmp_path, "sh", "-c", "echo out; echo err >&2; exit 7")
    assert found == (b"out\n", b"err\n", ended(7))


def test_what_a_shell_would_say_of_a_killed_command_is_not_in_its_output(tmp_path: Path) -> None:
    assert run(tmp_path, "sh", "-c", "kill -SEGV $$") == (b"", b"", ended(139))


def test_large_data_arrive_whole_both_ways_at_once(tmp_path: Path) -> None:
    content = os.urandom(5_000_000)
    out, _, outcome = run(tmp_path, "cat", stdin=content)
    assert hashlib.sha256(out).digest() == hashlib.sha256(content).digest()
    assert outcome == ended(0)


def test_bytes_like_our_own_lines_pass(tmp_path: Path) -> None:
    script = r"printf '\001'; printf '\0010123\n\001\001' >&2; printf '\001' >&2"
    out, err, outcome = run(tmp_path, "sh", "-c", script)
    assert (out, err, outcome) == (b"\1", b"\0010123\n\1\1\1", ended(0))


def test_what_is_said_before_the_start_is_no_output(tmp_path: Path) -> None:
    carrier = tmp_path / "carrier"
    carrier.write_text('#!/bin/sh\necho noise\necho words >&2\nexec "$@"\n')
    carrier.chmod(0o700)
    out, err, outcome = run(tmp_path, "echo", "out", carrier=str(carrier))
    assert (out, err) == (b"out\n", b"")
    assert outcome == (True, 0, False, b"words\n", 0)


def test_a_carrier_that_refuses_has_started_nothing_and_took_no_input(tmp_path: Path) -> None:
    carrier = tmp_path / "carrier"
    carrier.write_text("#!/bin/sh\necho refused >&2\nexit 3\n")
    carrier.chmod(0o700)
    reading, writing = os.pipe()
    os.write(writing, b"kept")
    os.close(writing)
    argv = [sys.executable, "-c", PROGRAM, str(tmp_path), str(carrier), "cat"]
    done = subprocess.run(argv, stdin=reading, capture_output=True, check=True)
    assert eval(done.stderr.rpartition(b"\n")[2]) == (False, None, False, b"refused\n", 3)  # noqa: S307 - our own words
    assert os.read(reading, 10) == b"kept"
    os.close(reading)


def test_a_carrier_that_dies_leaves_no_exit_code(tmp_path: Path) -> None:
    carrier = tmp_path / "carrier"
    started = r"printf '\0010123456789abcdef started 1\n'"
    carrier.write_text(f"#!/bin/sh\n{started}; {started} >&2; echo half; exit 255\n")
    carrier.chmod(0o700)
    found = run(tmp_path, "true", carrier=str(carrier))
    assert found == (b"half\n", b"", (True, None, False, b"", 255))


def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    _, _, outcome = run(tmp_path / "none", "true")
    assert outcome == (False, None, True, b"", 0)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_goes_to_the_command_and_what_it_started(
    tmp_path: Path, signum: signal.Signals
) -> None:
    # `exec`: dash loses a signal that comes while it starts a program.
    with start(tmp_path, "sh", "-c", "sleep 900 & echo on; exec sleep 900") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"on\n"
        process.send_signal(signum)
        _, err = process.communicate()
    assert eval(err.rpartition(b"\n")[2]) == ended(128 + signum)  # noqa: S307 - our own words


def test_a_third_signal_kills(tmp_path: Path) -> None:
    script = "trap 'echo int' INT; trap 'echo term' TERM; echo on; while :; do sleep 0.05; done"
    with start(tmp_path, "sh", "-c", script) as process:
        assert process.stdout is not None
        for heard in (b"on\n", b"int\n", b"term\n"):
            assert process.stdout.readline() == heard
            process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    started, code, *_ = eval(err.rpartition(b"\n")[2])  # noqa: S307 - our own words
    assert (started, code) == (True, None)


# As `srun` does: it outlives the step that it carries, and says how that ended.
CARRIER = """#!{python}
import subprocess, sys
subprocess.call(["setsid", "-w", *sys.argv[1:]])
sys.stderr.write("srun: error: node-1: task 0: Killed\\nsrun: Terminating StepId=1.2\\n")
"""


def test_what_slurm_says_of_a_killed_step_is_not_in_the_output(tmp_path: Path) -> None:
    carrier = tmp_path / "carrier"
    carrier.write_text(CARRIER.format(python=sys.executable))
    carrier.chmod(0o700)
    script = (
        "trap : INT TERM; exec 4>&2 2>/dev/null; "
        "echo on; while :; do sleep 0.05; printf own >&4; echo on; done"
    )
    with start(tmp_path, "sh", "-c", script, carrier=str(carrier)) as process:
        assert process.stdout is not None
        for _ in range(3):
            assert process.stdout.readline() == b"on\n"
            process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    said, _, outcome = err.rpartition(b"\n")
    assert eval(outcome)[:2] == (True, None)  # noqa: S307 - our own words
    assert said.replace(b"own", b"") == b""


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_of_a_killed_command_its_own_last_words_are_kept(size: int) -> None:
    marked = Marked("0123", 2)
    before, after = (
        b"\0010123 started 1\nfirst\n",
        b"own\nhalfsrun: error: x: Killed\nsrun: end\nlast",
    )
    marked.take(before)
    marked.expect_kill()
    for at in range(0, len(after), size):
        marked.take(after[at : at + size])
    marked.take(b"")
    assert bytes(marked.pending) == b"first\nown\nhalflast"


def test_a_reader_that_leaves_ends_the_command(tmp_path: Path) -> None:
    with start(tmp_path, "yes") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()
    assert eval(err.rpartition(b"\n")[2]) == ended(128 + signal.SIGPIPE)  # noqa: S307 - our own words


@pytest.mark.parametrize("command", ["echo hi", "yes"])
def test_output_that_does_not_fit_onto_our_disk_is_told_and_ends_the_command(
    tmp_path: Path, command: str
) -> None:
    argv = [sys.executable, "-c", PROGRAM, str(tmp_path), "env", "sh", "-c", command]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, check=True, input=b"")
    assert done.stderr.splitlines()[-2] == b"No space left on device"
