"""A command on several machines: whole lines with a name before each, no input, signals for all of them."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

# Three machines, each a shell of this one in a directory of its own. The last line of stderr tells the outcomes.
PROGRAM = """
import os, sys
from scratchflow.process.carried_all import Far, carry_all
from scratchflow.process.far_words import followed_argv, kill_argv
top, *command = sys.argv[1:]
fars = []
for name in ("one", "two", "three"):
    words = [os.fsencode(word) for word in command]
    argv = followed_argv(name * 3, os.fsencode(f"{top}/{name}"), b"", words)
    fars.append(Far(name, argv, name * 3, kill_argv))
outcomes = carry_all(fars, os.environ)
known = {name: (one.started, one.code, one.no_directory) for name, one in outcomes.items()}
os.write(2, f"\\n{known}".encode())
"""
NAMES = ("one", "two", "three")


def start(top: Path, script: str) -> subprocess.Popen[bytes]:
    for name in NAMES:
        (top / name).mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(top), "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[bytes]) -> tuple[list[bytes], list[bytes], dict[str, object]]:
    out, err = process.communicate()
    said, _, outcome = err.rpartition(b"\n")
    known: dict[str, object] = eval(outcome)  # noqa: S307 - our own words
    return sorted(out.splitlines()), sorted(said.splitlines()), known


def test_every_line_has_its_name_and_every_command_its_code(tmp_path: Path) -> None:
    script = 'here=$(basename "$PWD"); echo a $here; printf b; echo err >&2; [ $here != two ]'
    with start(tmp_path, script) as process:
        out, err, outcomes = ended(process)
    assert out == sorted(
        line for name in NAMES for line in (f"{name}: a {name}".encode(), f"{name}: b".encode())
    )
    assert err == sorted(f"{name}: err".encode() for name in NAMES)
    assert outcomes == {
        "one": (True, 0, False),
        "two": (True, 1, False),
        "three": (True, 0, False),
    }


def test_lines_never_mix(tmp_path: Path) -> None:
    script = 'yes "$(basename "$PWD") $(printf %0900d 7)" | head -n 2000'
    with start(tmp_path, script) as process:
        out, _, _ = ended(process)
    assert len(out) == 6000
    for name in NAMES:
        assert out.count(f"{name}: {name} {7:0900d}".encode()) == 2000


def test_none_of_them_has_any_input(tmp_path: Path) -> None:
    with start(tmp_path, "cat; echo end") as process:
        assert process.stdin is not None
        process.stdin.write(b"typed\n")
        out, _, _ = ended(process)
    assert out == sorted(f"{name}: end".encode() for name in NAMES)


def test_a_signal_ends_all_of_them(tmp_path: Path) -> None:
    with start(tmp_path, "echo on; exec sleep 9881") as process:
        assert process.stdout is not None
        for _ in NAMES:
            assert process.stdout.readline().endswith(b": on\n")
        process.send_signal(signal.SIGINT)
        _, _, outcomes = ended(process)
    assert outcomes == dict.fromkeys(NAMES, (True, 128 + signal.SIGINT, False))


def test_a_missing_directory_is_told_for_its_machine(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).mkdir()
    (tmp_path / "two").rmdir()
    argv = [sys.executable, "-c", PROGRAM, str(tmp_path), "true"]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    outcomes = eval(done.stderr.rpartition(b"\n")[2])  # noqa: S307 - our own words
    assert outcomes["two"] == (False, None, True)
    assert outcomes["one"] == outcomes["three"] == (True, 0, False)


def test_a_reader_that_leaves_ends_them(tmp_path: Path) -> None:
    with start(tmp_path, "exec yes") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait() == 0
        assert process.stderr is not None
        outcomes = eval(process.stderr.read().rpartition(b"\n")[2])  # noqa: S307 - our own words
    assert set(outcomes.values()) == {(True, 128 + signal.SIGPIPE, False)}


def test_output_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).mkdir()
    program = PROGRAM.replace("one.no_directory", "one.unwritten")
    argv = [sys.executable, "-c", program, str(tmp_path), "echo", "x"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, check=True
        )
    outcomes = eval(done.stderr.rpartition(b"\n")[2])  # noqa: S307 - our own words
    assert "No space left on device" in {unwritten for _, _, unwritten in outcomes.values()}
