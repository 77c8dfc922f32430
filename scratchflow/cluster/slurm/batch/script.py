"""The script that `sbatch` gets, and what is read from a script of the user's: its `#SBATCH` lines and its interpreter."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

MARK = "#SBATCH"
# An array of its own, a call that lasts as long as the job, and one that makes no job.
_UNUSABLE = {"array", "wait", "test-only"}
_UNUSABLE_SHORT = {"-a", "-W"}
_RESOURCES = {
    "--partition": "partition",
    "-p": "partition",
    "--account": "account",
    "-A": "account",
    "--time": "time",
    "-t": "time",
    "--nodes": "nodes",
    "-N": "nodes",
    "--ntasks": "ntasks",
    "-n": "ntasks",
    "--cpus-per-task": "cpus_per_task",
    "-c": "cpus_per_task",
    "--mem": "mem",
    "--gpus": "gpus",
    "-G": "gpus",
    "--gres": "gres",
    "--qos": "qos",
    "-q": "qos",
    "--constraint": "constraint",
    "-C": "constraint",
    "--nodelist": "nodelist",
    "-w": "nodelist",
    "--exclude": "exclude",
    "-x": "exclude",
}
OUTPUT_FD, ERROR_FD = 8, 9
"""Where the job's own output and errors go; what the agent says is kept apart. Its start uses 3 for itself."""


def batch_script(agent: Sequence[str], request: str, log: str, options: Sequence[str] = ()) -> str:
    """Starts the agent in place of the script's shell, so that it gets the signals that Slurm sends to the script."""
    # With little time in all, Slurm sends SIGUSR1 at once: it must not end what does not listen yet.
    deaf = "trap '' USR1"
    keep = f"exec {OUTPUT_FD}>&1 {ERROR_FD}>&2"
    moved = f"<{shlex.quote(request)} >>{shlex.quote(log)} 2>&1"
    lines = ["#!/bin/sh", *options, deaf, keep, f"exec {shlex.join(agent)} {moved}"]
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


def unusable_option(words: Sequence[str]) -> str:
    """The first option that would make of the job what its record does not know; empty when there is none."""
    for word in words:
        if word.startswith("--"):
            # `sbatch` also takes the beginning of a name.
            name = word[2:].partition("=")[0]
            if name in _UNUSABLE or (len(name) > 1 and "array".startswith(name)):
                return word
        elif word[:2] in _UNUSABLE_SHORT:
            return word
    return ""


def holding_option(words: Sequence[str]) -> str:
    """The first option that keeps the job in the queue until somebody releases it; empty when there is none."""
    for word in words:
        is_long = len(word) > len("--h") and "--hold".startswith(word)
        if is_long or word.startswith("-H"):
            return word
    return ""


def resources_in(words: Sequence[str]) -> dict[str, str]:
    """The keys of `[slurm]` that these options of a script set, with their values."""
    found: dict[str, str] = {}
    for index, word in enumerate(words):
        name, has_value, value = word.partition("=")
        key = _RESOURCES.get(name)
        if key is None and not word.startswith("--") and word[:2] in _RESOURCES:
            key, has_value, value = _RESOURCES[word[:2]], "=", word[2:]
        if key is not None:
            following = words[index + 1] if index + 1 < len(words) else ""
            found[key] = value if has_value else following
    return found


def words_of(lines: Sequence[str]) -> list[str]:
    """The options in `#SBATCH` lines, word by word."""
    return [word for line in lines for word in _words(line)]


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
