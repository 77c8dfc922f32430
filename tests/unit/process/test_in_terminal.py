"""A program in our terminal: what is printed before it starts is left out, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scratchflow.process.far_words import terminal_argv
from scratchflow.process.in_terminal import Beginning, Ending, call_in_terminal
from scratchflow.process.interrupted import Interrupted
from tests.terminal import Terminal

TOKEN = "0123456789abcdef"  # noqa: S105 - no secret
LINE = b"\001" + TOKEN.encode() + b" started 0\r\n"
PROGRAM = """
import os, sys
from scratchflow.process.in_terminal import call_in_terminal
patience_s, *argv = sys.argv[1:]
end = call_in_terminal(argv, os.environ, "0123456789abcdef", patience_s=float(patience_s))
if end.is_heard is False:
    print("nobody heard the end")
sys.exit(end.code)
"""


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_what_comes_before_the_line_is_left_out(size: int) -> None:
    beginning = Beginning(TOKEN)
    said = b"Welcome\r\n\001\0010123 x" + LINE + b"own\001 " + LINE
    pieces = [said[at : at + size] for at in range(0, len(said), size)]
    shown = b"".join(beginning.take(piece) for piece in pieces)
    assert shown + beginning.end() == b"own\001 " + LINE


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_whoever_has_waited_long_sees_all_but_the_line(size: int) -> None:
    beginning = Beginning(TOKEN)
    shown = beginning.take(b"Welcome\r\n") + beginning.show_all()
    assert shown == b"Welcome\r\n"
    assert not beginning.is_waited_for
    said = b"srun: waiting\r\n\001a" + LINE + b"own"
    for at in range(0, len(said), size):
        shown += beginning.take(said[at : at + size])
    assert shown == b"Welcome\r\nsrun: waiting\r\n\001aown"


def test_what_never_starts_is_shown_with_its_reason() -> None:
    beginning = Beginning(TOKEN)
    assert beginning.take(b"srun: error: no\r\n") == b""
    assert beginning.end() == b"srun: error: no\r\n"


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_the_line_that_tells_the_end_is_left_out(size: int) -> None:
    ending = Ending(TOKEN)
    last = LINE.replace(b"started", b"ended")
    said = b"own\001\0010123 x" + LINE + b"logout\r\n" + last + b"of the background\001"
    pieces = [said[at : at + size] for at in range(0, len(said), size)]
    shown = b"".join(ending.take(piece) for piece in pieces) + ending.end()
    assert shown == said.replace(last, b"")
    assert ending.is_heard


def test_output_that_breaks_off_is_shown_whole_and_has_no_end() -> None:
    ending = Ending(TOKEN)
    assert ending.take(b"$ ls\r\n$ ") == b"$ ls\r\n$ "
    half = LINE.replace(b"started", b"ended").rstrip()
    assert ending.take(half) + ending.end() == half
    assert not ending.is_heard


def in_terminal(tmp_path: Path, before: str, *command: str, patience_s: float = 600) -> Terminal:
    """The command as a shell of a login host starts it, after what its startup files do."""
    words = [os.fsencode(word) for word in command]
    far = terminal_argv(os.fsencode(tmp_path), b"", words, token=TOKEN)
    shell = ["sh", "-c", f'{before}; exec "$@"', "sh"]
    argv = [sys.executable, "-c", PROGRAM, str(patience_s), *shell, *far]
    return Terminal(argv, os.environ)


def test_noise_of_startup_files_is_not_shown_and_keys_and_code_are_the_commands(
    tmp_path: Path,
) -> None:
    script = "test -t 0 && echo ready; read line; echo got $line; exit 7"
    with in_terminal(tmp_path, "echo Welcome; echo to all >&1", "sh", "-c", script) as terminal:
        terminal.wait_for("ready")
        terminal.press("hello\r")
        assert terminal.end() == 7
    assert [row for row in terminal.all_rows if row] == ["ready", "hello", "got hello"]


def test_a_question_of_a_startup_file_is_seen_after_a_while(tmp_path: Path) -> None:
    before = "printf 'Which project? '; read project"
    with in_terminal(tmp_path, before, "echo", "own", patience_s=0.1) as terminal:
        terminal.wait_for("Which project?")
        terminal.press("a\r")
        assert terminal.end() == 0
    assert terminal.all_rows[-1] == "own"


def test_a_carrier_that_ends_before_the_command_is_told_from_one_that_ends_with_it(
    tmp_path: Path,
) -> None:
    """`srun` ends so, with 0, when the node loses its power."""
    with in_terminal(
        tmp_path, "true", "sh", "-c", "printf '$ '; kill -9 $PPID; sleep 0"
    ) as terminal:
        terminal.end()
    assert terminal.all_rows[-1] == "$ nobody heard the end"
    with in_terminal(tmp_path, "true", "sh", "-c", "stty tostop; kill -9 $$") as terminal:
        assert terminal.end() == 128 + signal.SIGKILL
    assert "nobody" not in terminal.text


def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    with in_terminal(tmp_path / "none", "echo Welcome", "true") as terminal:
        assert terminal.end() == 1
    assert "Welcome" in terminal.text, "what has not started is shown whole"


def test_without_a_token_nothing_is_read(tmp_path: Path) -> None:
    program = PROGRAM.replace('"0123456789abcdef"', '""')
    script = "test -t 1 && echo direct"
    argv = [sys.executable, "-c", program, "1", "sh", "-c", script]
    with Terminal(argv, os.environ, cwd=tmp_path) as terminal:
        assert terminal.end() == 0
    assert terminal.rows == ["direct"]


def test_a_signal_in_the_middle_of_the_start_leaves_no_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    found = subprocess.Popen.__init__

    def interrupted_start(self: subprocess.Popen[bytes], *args: Any, **more: Any) -> None:
        found(self, *args, **more)
        started.append(self)
        signal.raise_signal(signal.SIGTERM)  # before anybody else knows of it

    def interrupt(signum: int, _: object) -> None:
        raise Interrupted(signum)

    monkeypatch.setattr(subprocess.Popen, "__init__", interrupted_start)
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        with pytest.raises(Interrupted):
            call_in_terminal(["sleep", "9873"], dict(os.environ))
        assert signal.getsignal(signal.SIGTERM) is interrupt
    finally:
        signal.signal(signal.SIGTERM, before)
    assert [one.returncode for one in started] == [-signal.SIGTERM]


def test_a_reader_that_goes_away_is_no_end_that_nobody_told() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    saved = os.dup(1)
    os.dup2(writing, 1)
    try:
        end = call_in_terminal(["printf", "\\001t started 0\\nmore"], dict(os.environ), "t")
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(writing)
    assert (end.code, end.is_heard) == (0, None)
