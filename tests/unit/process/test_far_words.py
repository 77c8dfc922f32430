"""Words reach the command as they are, whichever login shell they pass through."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from scratchflow.process.far_words import (
    Way,
    followed_argv,
    packed,
    replacing_argv,
    terminal_argv,
)

WORDS = [
    b"a b",
    b"new\nline\n",
    b"q'\"`x",
    b"$HOME $(id)",
    b"*",
    b"-n",
    b"--",
    b"",
    b"back\\slash\\\\0101",
    b"!! \xff\xfe %s %%",
    b",.",
    b"\t;&|<>~#",
    "zażółć gęślą jaźń\n".encode() * 50,
    bytes(range(1, 256)) * 9 + b"\n\n",
]
SHELLS = [shell for shell in ("sh", "dash", "bash", "zsh", "fish", "tcsh") if shutil.which(shell)]
SHOW = [b"printf", b"%s\\0", *WORDS]


def parts(output: bytes) -> list[bytes]:
    return output.split(b"\0")[:-1]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("quotes", [False, True])
def test_every_word_passes_every_login_shell(tmp_path: Path, shell: str, *, quotes: bool) -> None:
    """As ssh does it: one string for `SHELL -c`, twice with `quotes`."""
    carrier = [shell, "-c"] if quotes else ["env"]
    way = Way([shell, "-c"], carrier, quotes=quotes)
    argv = way.argv(terminal_argv(os.fsencode(tmp_path), b"", SHOW))
    done = subprocess.run(argv, capture_output=True, check=True)
    assert parts(done.stdout) == WORDS


def test_a_long_word_takes_little_more_room_than_it_has_bytes() -> None:
    for word in ("ą" * 10_000, "a b " * 10_000, "x" * 10_000):
        content = word.encode()
        assert len(packed(content)) < len(content) * 1.4 + 10


def test_a_node_that_cannot_read_a_word_starts_nothing(tmp_path: Path) -> None:
    """Without `base64` the words would be others."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sh").symlink_to(shutil.which("sh") or "/bin/sh")
    argv = followed_argv("token", os.fsencode(tmp_path), b"", [b"touch", "ą".encode() * 1000])
    environment = {**os.environ, "PATH": str(tmp_path / "bin")}
    done = subprocess.run(argv, capture_output=True, check=False, env=environment)
    assert done.stdout == b""
    assert b"base64" in done.stderr
    assert os.listdir(tmp_path) == ["bin"]


def test_plain_words_stay_readable() -> None:
    assert packed(b"src/main.py") == ".src/main.py"
    assert packed(b"a b") == ",a\\0040b"


@pytest.mark.parametrize("make", [terminal_argv, replacing_argv])
def test_directory_environment_and_code_are_as_asked(tmp_path: Path, make: object) -> None:
    assert callable(make)
    place = tmp_path / "it's a 'place'"
    place.mkdir()
    sourced = place / "set it"
    sourced.write_text("export GREETING='hello there'\n")
    command = [b"sh", b"-c", b'pwd; echo "$GREETING"; exit 7']
    argv = make(os.fsencode(place), os.fsencode(sourced), command)
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (7, f"{place}\nhello there\n")


def test_a_word_of_the_shell_is_no_command(tmp_path: Path) -> None:
    argv = terminal_argv(os.fsencode(tmp_path), b"", [b"exit", b"3"])
    assert subprocess.run(argv, capture_output=True, check=False).returncode == 127


def test_a_missing_directory_starts_nothing(tmp_path: Path) -> None:
    argv = followed_argv("token", os.fsencode(tmp_path / "none"), b"", [b"echo", b"ran"])
    done = subprocess.run(argv, capture_output=True, check=False)
    assert (done.stdout, done.stderr) == (b"", b"\x01token nodir 0\n")


@pytest.mark.parametrize(("noted", "starts"), [("7\n", True), ("8\n", False), (None, False)])
def test_nothing_starts_in_a_job_that_is_not_the_one_worked_in(
    tmp_path: Path, noted: str | None, starts: bool
) -> None:
    note = tmp_path / "it's the note"
    if noted:
        note.write_text(noted)
    here, current = os.fsencode(tmp_path), os.fsencode(note)
    argv = followed_argv("token", here, b"", [b"echo", b"ran"], current=current)
    environment = {**os.environ, "SLURM_JOB_ID": "7"}
    done = subprocess.run(argv, capture_output=True, check=False, env=environment)
    assert (done.returncode, done.stdout.endswith(b"ran\n")) == (0, starts)
    assert starts or (done.stdout, done.stderr) == (b"", b"")


@pytest.mark.parametrize(("check", "starts"), [("true", True), ("false", False), (None, False)])
def test_nothing_starts_with_an_environment_that_is_out_of_date(
    tmp_path: Path, check: str | None, starts: bool
) -> None:
    note, sourced = tmp_path / "note", tmp_path / "environment.sh"
    note.write_text("7\n")
    sourced.write_text("export A=1\n")
    if check:
        sourced.with_name("environment.sh.fresh").write_text(f"{check}\n")
    argv = followed_argv(
        "token",
        os.fsencode(tmp_path),
        os.fsencode(sourced),
        [b"sh", b"-c", b"echo $A"],
        current=os.fsencode(note),
    )
    environment = {**os.environ, "SLURM_JOB_ID": "7"}
    done = subprocess.run(argv, capture_output=True, check=False, env=environment)
    assert (done.returncode, done.stdout.endswith(b"1\n")) == (0, starts)
    assert starts or (done.stdout, done.stderr) == (b"", b"")


@pytest.mark.parametrize("emptied", ["environment.sh", "environment.sh.fresh"])
def test_nothing_starts_with_an_environment_that_was_emptied(tmp_path: Path, emptied: str) -> None:
    note, sourced = tmp_path / "current", tmp_path / "environment.sh"
    note.write_text("7\n")
    sourced.write_text("export A=1\n")
    sourced.with_name("environment.sh.fresh").write_text("true\n")
    (tmp_path / emptied).write_text("")
    directory, file = os.fsencode(tmp_path), os.fsencode(sourced)
    argv = followed_argv("token", directory, file, [b"echo", b"ran"], current=os.fsencode(note))
    environment = {**os.environ, "SLURM_JOB_ID": "7"}
    done = subprocess.run(argv, capture_output=True, check=False, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
