"""The script that `sbatch` gets, and what is read from a script of the user's: its `#SBATCH` lines and its interpreter."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

MARK = "#SBATCH"
# Options that make no job, or another one than its record says: why they cannot be passed on.
_UNUSABLE = {
    "array": "its tasks would be in no record; `--grid`, `--zip` and `--spec` make an array",
    "wrap": "the command would be this one, and not the job's; `scratchflow submit -- CMD` runs a command",
    "wait": "`submit` would last as long as the job; `scratchflow logs -f JOB` waits for its end",
    "test-only": "it makes no job; `scratchflow submit --dry-run` shows what would be submitted",
    "version": "it makes no job; `sbatch --version` on the login host tells Slurm's",
    "help": "it makes no job; `sbatch --help` on the login host shows all options",
    "usage": "it makes no job; `sbatch --usage` on the login host shows all options",
}
_UNUSABLE_SHORT = {"-a": "array", "-W": "wait", "-V": "version", "-h": "help"}
_PRINTED = "what it prints goes into its record, where `scratchflow logs` finds it"
# Options that every job gets from us: who would type them, and what does the same.
_OURS = {
    "job-name": "`--name NAME` names the job",
    "output": _PRINTED,
    "error": _PRINTED,
    "open-mode": _PRINTED,
    "signal": "`--signal SIG@S` does that",
    "export": "the profile's `[environment]` says what the job gets",
    "chdir": "`--cwd DIR` does that",
}
_OURS_SHORT = {"-J": "job-name", "-o": "output", "-e": "error", "-D": "chdir"}
_SHORTEST = 2
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


def unusable_option(words: Sequence[str]) -> tuple[str, str] | None:
    """The first option that would make no job, or one that its record does not know, and why it cannot be passed on."""
    return _first_of(words, _UNUSABLE, _UNUSABLE_SHORT)


def option_of_ours(words: Sequence[str]) -> tuple[str, str] | None:
    """The first option that every job gets from us, so that this one would have no effect, and what to do instead."""
    return _first_of(words, _OURS, _OURS_SHORT)


def _first_of(
    words: Sequence[str], reasons: Mapping[str, str], short: Mapping[str, str]
) -> tuple[str, str] | None:
    for word in words:
        name = _full_name(word, reasons) or short.get(word[:2], "")
        if name:
            return word, reasons[name]
    return None


def _full_name(word: str, names: Iterable[str]) -> str:
    """Which of these long options it is: `sbatch` also takes the beginning of a name."""
    given = word[2:].partition("=")[0]
    is_enough = word.startswith("--") and len(given) >= _SHORTEST
    return next((name for name in names if is_enough and name.startswith(given)), "")


def holding_option(words: Sequence[str]) -> str:
    """The first option that keeps the job in the queue until somebody releases it; empty when there is none."""
    for word in words:
        is_long = len(word) > len("--h") and "--hold".startswith(word)
        if is_long or word.startswith("-H"):
            return word
    return ""


def is_option(word: str) -> bool:
    """Whether `sbatch` reads one option in it, and neither the end of all options nor the name of a script."""
    name = word.partition("=")[0] if word.startswith("--") else word[:2]
    return name.startswith("-") and name not in {"-", "--"} and not name.split()[1:]


def may_get_several_nodes(words: Sequence[str]) -> bool:
    """Whether these options ask for more than one node, or let Slurm give more: `--nodes=1-2`."""
    counts = re.findall(r"\w+", resources_in(words).get("nodes", ""))
    return not {"1"}.issuperset(counts)


def never_again_option(words: Sequence[str]) -> str:
    """The first option that forbids Slurm to put the job back into the queue; empty when there is none."""
    return next((word for word in words if _full_name(word, ["no-requeue"])), "")


def resources_in(words: Sequence[str]) -> dict[str, str]:
    """The keys of `[slurm]` that these options of a script set, with their values."""
    return {key: value for key, value, _ in _resource_options(words)}


def resource_words(words: Sequence[str]) -> dict[str, str]:
    """The same keys, with the option that sets each as it was typed: `--ntasks=8`, `-n 8`."""
    return {key: typed for key, _, typed in _resource_options(words)}


def _resource_options(words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for index, word in enumerate(words):
        name, has_value, value = word.partition("=")
        key = _RESOURCES.get(name)
        if key is None and not word.startswith("--") and word[:2] in _RESOURCES:
            key, has_value, value = _RESOURCES[word[:2]], "=", word[2:]
        if key is not None and has_value:
            yield key, value, word
        elif key is not None:
            following = words[index + 1] if index + 1 < len(words) else ""
            yield key, following, f"{word} {following}"


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
