"""The flags that decide how to report, read before parsing: a parse error must be reported too."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
        "--packages",
        "--python",
        "--requirements",
        "--from",
        "--gpus",
        "--login",
        "--mem",
        "--message",
        "--node",
        "--wait",
        "--name",
        "--partition",
        "--path",
        "--profile",
        "--qos",
        "--scratch",
        "--set",
        "--store",
        "--time",
        "--to",
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


def peek(arguments: Sequence[str]) -> Flags:
    """Looks for the flags anywhere before `--`; what follows is the user's own command."""
    if is_agent(arguments):  # its request says how verbose it is
        return Flags(json=True, quiet=False, verbose=True, version=False)
    words = set(_options(arguments))
    return Flags(
        json="--json" in words,
        quiet=bool(words & {"--quiet", "-q"}),
        verbose=bool(words & {"--verbose", "-v"}),
        version="--version" in words,
        profile=_profile(arguments),
    )


def is_agent(arguments: Sequence[str]) -> bool:
    """Whether another scratchflow started us to answer a request."""
    return list(arguments[:1]) == [AGENT]


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


def _profile(arguments: Sequence[str]) -> str:
    """The name after the last `-p` or `--profile`, if it is one that can be typed again as it is."""
    named = ""
    wants_name = False
    for argument in arguments:
        if argument == "--":
            break
        if wants_name:
            named = argument
        wants_name = argument in {"-p", "--profile"}
        for start in ("--profile=", "-p"):
            if (
                argument.startswith(start)
                and len(argument) > len(start)
                and argument != "--profile"
            ):
                named = argument[len(start) :]
    is_plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", named)
    return named if is_plain else ""


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
