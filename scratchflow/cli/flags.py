"""The flags that decide how to report, read before parsing: a parse error must be reported too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# The verb that no person types: it answers in JSON Lines, whatever the flags.
AGENT = "agent"

_WITH_VALUE = {"--profile", "-p", "--config", "--set"}


@dataclass(frozen=True)
class Flags:
    """How to talk to whoever called us."""

    json: bool
    quiet: bool
    verbose: bool
    version: bool


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
    )


def is_agent(arguments: Sequence[str]) -> bool:
    """Whether another scratchflow started us to answer a request."""
    return list(arguments[:1]) == [AGENT]


def _options(arguments: Sequence[str]) -> list[str]:
    found: list[str] = []
    is_value = False
    for argument in arguments:
        if argument == "--":
            break
        if not is_value:
            found += _single(argument)
        is_value = not is_value and argument in _WITH_VALUE
    return found


def _single(argument: str) -> list[str]:
    """`-qv` as `-q`, `-v`; everything else as it is."""
    letters = argument[1:]
    if argument.startswith("-") and letters and set(letters) <= set("qv"):
        return [f"-{letter}" for letter in letters]
    return [argument]
