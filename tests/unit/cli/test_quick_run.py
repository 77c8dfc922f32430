"""Only the plain form of `run` takes the quick way."""

from __future__ import annotations

import pytest

from scratchflow.cli.quick_run import parse_plain


def test_the_plain_form_is_read() -> None:
    assert parse_plain(["run", "--", "make", "-j8", "--"]) == ("", ["make", "-j8", "--"])
    assert parse_plain(["run", "--cwd", "src", "--", "ls"]) == ("src", ["ls"])


@pytest.mark.parametrize(
    "line",
    [
        "run",
        "run --",
        "run ls",
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
