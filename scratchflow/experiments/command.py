"""The command of one task, and the file with its parameters. Values become whole words, never text of a shell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from scratchflow.experiments.values import Value, as_json, write_value
from scratchflow.model.errors.base import ParameterInvalid
from scratchflow.model.text import closest

PARAMETERS_VARIABLE = "SCRATCHFLOW_PARAMS"
"""Names the JSON file with a task's parameters, in the task's environment."""

# What looks like a name in braces is one; `{print $1}` and `{"a": 1}` are left alone.
_PLACE = re.compile(r"\{\{|\{([A-Za-z_][A-Za-z0-9_./-]*)\}", re.ASCII)


def command_for(
    argv: Sequence[str], parameters: Mapping[str, Value], *, append: bool = True
) -> list[str]:
    """The command with `{k}` replaced and `{{` as a brace; other parameters follow it as `--k=v`.

    Without any parameters the command stays as it is, braces included.
    """
    if not parameters:
        return list(argv)
    used: set[str] = set()
    words = [_replaced(word, parameters, used) for word in argv]
    rest = [name for name in parameters if name not in used] if append else []
    return [*words, *(f"--{name}={write_value(parameters[name])}" for name in rest)]


def kept_as_is(word: str) -> str:
    """The word written so that `command_for` gives it back unchanged."""
    return word.replace("{", "{{")


def parameters_file(parameters: Mapping[str, Value]) -> bytes:
    """What the file of `$SCRATCHFLOW_PARAMS` holds: one JSON object, and a newline."""
    return f"{as_json(dict(parameters))}\n".encode()


def _replaced(word: str, parameters: Mapping[str, Value], used: set[str]) -> str:
    def value_of(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return "{"
        if name not in parameters:
            raise _unknown(name, word, parameters)
        used.add(name)
        return write_value(parameters[name])

    return _PLACE.sub(value_of, word)


def _unknown(name: str, word: str, parameters: Mapping[str, Value]) -> ParameterInvalid:
    guess = closest(name, parameters)
    meant = f"did you mean `{{{guess}}}`?" if guess else f"the parameters: {', '.join(parameters)}"
    problem = f"there is no parameter `{name}`; {meant} (`{{{{{name}}}` stands for the braces)"
    return ParameterInvalid(given=word, problem=problem)
