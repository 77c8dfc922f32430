"""The flags that decide how to report, read before parsing: a parse error must be reported too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

# The verb that no person types: it answers in JSON Lines, whatever the flags.
AGENT = "agent"

# Every option of every verb whose next word is its value, whatever that looks like.
WITH_VALUE = frozenset(
    {
        "--account",
        "--config",
        "--constraint",
        "--cwd",
        "--cpus",
        "--env",
        "--every",
        "--packages",
        "--python",
        "--requirements",
        "--from",
        "--prefer",
        "--from-node",
        "--gpus",
        "--login",
        "--mem",
        "--message",
        "--node",
        "--nodes",
        "--wait",
        "--name",
        "--partition",
        "--path",
        "--port",
        "--profile",
        "--qos",
        "--scratch",
        "--set",
        "--signal",
        "--site",
        "--store",
        "--time",
        "--to",
        "--collect",
        "--continue",
        "--from-job",
        "--grid",
        "--param",
        "--since",
        "--task",
        "--max-parallel",
        "--sbatch",
        "--spec",
        "--state",
        "--tag",
        "--zip",
        "-m",
        "-p",
    }
)


class Flags(msgspec.Struct, frozen=True):
    """How to talk to whoever called us."""

    json: bool
    quiet: bool
    verbose: bool
    version: bool
    profile: str = ""
    # As they were typed: the configuration file, and the values of `--set`.
    config: str = ""
    overrides: tuple[str, ...] = ()


def peek(arguments: Sequence[str]) -> Flags:
    """Looks for the flags anywhere before `--`; what follows is the user's own command."""
    if is_agent(arguments):  # its request says how verbose it is
        return Flags(json=True, quiet=False, verbose=True, version=False)
    words = set(_options(arguments))
    values = list(_values(arguments))
    return Flags(
        json="--json" in words,
        quiet=bool(words & {"--quiet", "-q"}),
        verbose=bool(words & {"--verbose", "-v"}),
        version="--version" in words,
        profile=_plain([value for name, value in values if name in {"-p", "--profile"}]),
        config=next((value for name, value in reversed(values) if name == "--config"), ""),
        overrides=tuple(value for name, value in values if name == "--set"),
    )


def is_agent(arguments: Sequence[str]) -> bool:
    """Whether another scratchflow started us to answer a request."""
    return list(arguments[:1]) == [AGENT]


def with_separator(arguments: Sequence[str]) -> Sequence[str]:
    """`run ls -l` as `run -- ls -l`: as with `ssh` and `srun`, from its first word on the line is the command's."""
    is_run = is_value = False
    for position, argument in enumerate(arguments):
        if is_value:
            is_value = False
        elif argument == "--":
            break
        elif argument.startswith("-"):
            is_value = _single(argument)[-1] in WITH_VALUE
        elif is_run:
            return [*arguments[:position], "--", *arguments[position:]]
        elif argument != "run":
            break
        else:
            is_run = True
    return arguments


def _options(arguments: Sequence[str]) -> list[str]:
    found: list[str] = []
    is_value = False
    for argument in arguments:
        if is_value:
            is_value = False
            continue
        if argument == "--":
            break
        options = _single(argument)
        found += options
        is_value = options[-1] in WITH_VALUE
    return found


def _values(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each option that has a value, with it: `--set A=1`, `--set=A=1`, `-p NAME`, `-vpNAME`."""
    name = ""
    for argument in arguments:
        if name:
            yield name, argument
            name = ""
            continue
        if argument == "--":
            return
        last = _single(argument)[-1]
        if last in WITH_VALUE:
            name = last
        elif last.startswith("--"):
            option, equals, value = last.partition("=")
            if equals:
                yield option, value
        elif last[:2] in WITH_VALUE:
            yield last[:2], last[2:]


def _plain(names: list[str]) -> str:
    """The last profile that was named, if it is one that can be typed again as it is."""
    is_plain = names and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", names[-1])
    return names[-1] if is_plain else ""


def _single(argument: str) -> list[str]:
    """`-qv` as `-q`, `-v`, and `-vpNAME` as `-v`, `-pNAME`; everything else as it is."""
    if argument.startswith("--") or not argument.startswith("-"):
        return [argument]
    options: list[str] = []
    for position, letter in enumerate(argument[1:], start=1):
        if f"-{letter}" in WITH_VALUE:  # what follows, here or in the next word, is its value
            return [*options, f"-{argument[position:]}"]
        options.append(f"-{letter}")
    return options or [argument]
