"""The script that `sbatch` gets, and what is read from a script of the user's: its `#SBATCH` lines and its interpreter."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

MARK = "#SBATCH"
OUTPUT_FD, ERROR_FD = 8, 9
"""Where the job's own output and errors go; what the agent says is kept apart. Its start uses 3 for itself."""


def batch_script(agent: Sequence[str], request: str, log: str, options: Sequence[str] = ()) -> str:
    """Starts the agent in place of the script's shell, so that it gets the signals that Slurm sends to the script."""
    keep = f"exec {OUTPUT_FD}>&1 {ERROR_FD}>&2"
    moved = f"<{shlex.quote(request)} >>{shlex.quote(log)} 2>&1"
    lines = ["#!/bin/sh", *options, keep, f"exec {shlex.join(agent)} {moved}"]
    return "".join(f"{line}\n" for line in lines)


def sbatch_lines(script: str) -> list[str]:
    """The lines that `sbatch` would read: those before the first command."""
    found: list[str] = []
    for line in script.splitlines():
        if line.startswith(MARK):
            found.append(line)
        elif line.strip() and not line.startswith("#"):
            break
    return found


def job_name_in(lines: Sequence[str]) -> str:
    """What these `#SBATCH` lines call the job; empty when they do not."""
    for line in reversed(lines):
        words = _words(line)
        for index, word in enumerate(words):
            if word.startswith("--job-name="):
                return word.partition("=")[2]
            if word in {"--job-name", "-J"} and index + 1 < len(words):
                return words[index + 1]
    return ""


def interpreter(script: str) -> list[str]:
    """What runs it, from its first line as the kernel reads it; empty when it has none."""
    first = script.partition("\n")[0]
    if not first.startswith("#!"):
        return []
    return first[2:].strip().split(None, 1)


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line[len(MARK) :], comments=True)
    except ValueError:
        return line.split()[1:]
