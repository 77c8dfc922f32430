"""The script that `sbatch` gets, and what is read from a script of the user's: its `#SBATCH` lines and its interpreter."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

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
_UNUSABLE_SHORT = {"a": "array", "W": "wait", "V": "version", "h": "help", "u": "usage"}
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
_OURS_SHORT = {"J": "job-name", "o": "output", "e": "error", "D": "chdir"}
# With their letters; as keys of `[slurm]` they have underscores.
_RESOURCES = {
    "partition": "p",
    "account": "A",
    "time": "t",
    "nodes": "N",
    "ntasks": "n",
    "cpus-per-task": "c",
    "mem": "",
    "gpus": "G",
    "gres": "",
    "qos": "q",
    "constraint": "C",
    "nodelist": "w",
    "exclude": "x",
}
_RESOURCES_SHORT = {letter: name for name, letter in _RESOURCES.items() if letter}
# Short options of `sbatch` without a value, `u` and `R` in older versions: they may run together, also before one that has a value.
_FLAGS = frozenset("hHOQRsuvVW")
OUTPUT_FD, ERROR_FD = 8, 9
"""Where the job's own output and errors go; what the agent says is kept apart. Its start uses 3 for itself."""


class _Option(NamedTuple):
    """One option for `sbatch`: a long name as it was typed, which may be the beginning of one, or a letter."""

    name: str
    value: str
    word: str
    typed: str
    """The word, with the next one where that is its value."""
    is_long: bool

    def one_of(self, names: Iterable[str], letters: Mapping[str, str]) -> str:
        """Which of these it is; empty when it is none. `sbatch` also takes the beginning of a long name."""
        if not self.is_long:
            return letters.get(self.name, "")
        return next((one for one in names if self.name and one.startswith(self.name)), "")


def _options(words: Sequence[str]) -> Iterator[_Option]:
    """The options in these words, also those that run together: `-HW`, `-HN2`."""
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else ""
        if word.startswith("--"):
            name, has_value, value = word[2:].partition("=")
            typed = word if has_value else f"{word} {following}".rstrip()
            yield _Option(name, value if has_value else following, word, typed, is_long=True)
        elif word.startswith("-"):
            yield from _letters(word, following)


def _letters(word: str, following: str) -> Iterator[_Option]:
    for at, letter in enumerate(word[1:], start=2):
        if letter not in _FLAGS:
            value = word[at:]
            typed = word if value else f"{word} {following}".rstrip()
            yield _Option(letter, value or following, word, typed, is_long=False)
            return
        yield _Option(letter, "", word, word, is_long=False)


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
    named = [one.value for one in _options(words_of(lines)) if one.one_of(["job-name"], {"J": "J"})]
    return named[-1] if named else ""


def unusable_option(words: Sequence[str]) -> tuple[str, str] | None:
    """The first option that would make no job, or one that its record does not know, and why it cannot be passed on."""
    return _first_of(words, _UNUSABLE, _UNUSABLE_SHORT)


def option_of_ours(words: Sequence[str]) -> tuple[str, str] | None:
    """The first option that every job gets from us, so that this one would have no effect, and what to do instead."""
    return _first_of(words, _OURS, _OURS_SHORT)


def _first_of(
    words: Sequence[str], reasons: Mapping[str, str], short: Mapping[str, str]
) -> tuple[str, str] | None:
    found = ((one.word, one.one_of(reasons, short)) for one in _options(words))
    return next(((word, reasons[name]) for word, name in found if name), None)


def holding_option(words: Sequence[str]) -> str:
    """The first option that keeps the job in the queue until somebody releases it; empty when there is none."""
    found = (
        one for one in _options(words) if one.one_of(["help", "hold"], {"H": "hold"}) == "hold"
    )
    return next((one.word for one in found), "")


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
    return next((one.word for one in _options(words) if one.one_of(["no-requeue"], {})), "")


def resources_in(words: Sequence[str]) -> dict[str, str]:
    """The keys of `[slurm]` that these options of a script set, with their values."""
    return {key: value for key, value, _ in _resource_options(words)}


def resource_words(words: Sequence[str]) -> dict[str, str]:
    """The same keys, with the option that sets each as it was typed: `--ntasks=8`, `-n 8`."""
    return {key: typed for key, _, typed in _resource_options(words)}


def _resource_options(words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    for one in _options(words):
        if name := one.one_of(_RESOURCES, _RESOURCES_SHORT):
            yield name.replace("-", "_"), one.value, one.typed


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
