"""Only the plain form of `run` takes the quick way."""

from __future__ import annotations

import shlex

import pytest

from scratchflow.cli.quick_run import code_of, is_shell_line, parse_plain, shell_line_warning
from scratchflow.process.carried import Outcome


def test_the_plain_form_is_read() -> None:
    assert parse_plain(["run", "--", "make", "-j8", "--"]) == ("", ["make", "-j8", "--"])
    assert parse_plain(["run", "--cwd", "src", "--", "ls"]) == ("src", ["ls"])
    assert parse_plain(["run", "--cwd", "src", "ls", "-l"]) == ("src", ["ls", "-l"])
    assert parse_plain(["run", "python", "--version"]) == ("", ["python", "--version"])


@pytest.mark.parametrize(
    "line",
    [
        "run",
        "run --",
        "run --pty -- ls",
        "run --cwd -- ls",
        "run -p other -- ls",
        "run --json -- ls",
        "run --cwd",
        "status",
    ],
)
def test_everything_else_is_left_to_the_parser(line: str) -> None:
    assert parse_plain(line.split()) is None


def test_output_that_was_not_written_is_an_error_whatever_the_command_says(
    capfd: pytest.CaptureFixture[str],
) -> None:
    outcome = Outcome()
    outcome.started, outcome.code, outcome.unwritten = True, 0, "No space left on device"
    assert code_of(outcome, "node-1") == 1
    assert "cannot write the output: No space left on device" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("command", "code", "is_line"),
    [
        (["echo x > a; cat a"], 127, True),
        (["bin/tool --fast"], 126, True),
        (["echo x"], 0, False),
        (["my program"], 1, False),
        (["no-such-program"], 127, False),
        (["sh", "-c", "no such program"], 127, False),
    ],
)
def test_a_line_for_a_shell_is_told_from_a_program_that_failed(
    command: list[str], code: int, is_line: bool
) -> None:
    assert is_shell_line(command, code) is is_line


def test_what_is_proposed_for_a_line_runs_it_in_a_shell() -> None:
    line = "echo it's > a; cat a"
    proposed = shlex.split(shell_line_warning(line).message.split("`")[3])
    assert proposed == ["scratchflow", "run", "--", "sh", "-c", line]
