"""Lines of bash become one only where bash does the same with it."""

from __future__ import annotations

import subprocess

import pytest

from scratchflow.config.one_line import one_line

SHOW = '; printf "%s|%s|%s" "$A" "$B" "$?"'


@pytest.mark.parametrize(
    "text",
    [
        "export A=1\nexport B=$A:2\n",
        "# first\nexport A=1;\n\nexport B='x  y'\n",
        "A=$(printf 5)\nB=2 && A=3\n",
        "A=1\nfalse\nB=2\n",
    ],
)
def test_the_one_line_does_what_the_lines_do(text: str) -> None:
    line = one_line(text)
    assert line is not None
    assert "\n" not in line
    lines = subprocess.run(
        ["bash", "-c", f"set -e; trap '{SHOW[2:]}' EXIT\n{text}"], capture_output=True, check=False
    )
    one = subprocess.run(["bash", "-c", f"{line}{SHOW}"], capture_output=True, check=False)
    assert one.stdout == lines.stdout
    assert one.stdout


def test_a_single_line_stays_as_it_is() -> None:
    assert one_line("if true; then A=1; fi # yes") == "if true; then A=1; fi # yes"


@pytest.mark.parametrize(
    "text",
    [
        "if true\nthen A=1\nfi",
        "cat <<E\nx\nE",
        "export A=1 \\\nB=2",
        "A='1\n2'",
        "f() {\nA=1\n}",
        "A=1 &\nB=2",
        "false || true\nB=2",
        "A=1; B=2\nB=3",
        "A=1 # why\nB=2",
        "# nothing\n# at all",
    ],
)
def test_what_would_mean_something_else_is_not_joined(text: str) -> None:
    assert one_line(text) is None
