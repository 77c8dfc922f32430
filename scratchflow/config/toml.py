"""TOML in: the standard library's reader, or its twin `tomli` where Python has none yet."""

from __future__ import annotations

import re
import sys
from typing import Any

from scratchflow.model.errors.config import ConfigSyntax

# Both readers put the place into the message; only newer ones have it as attributes.
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def loads(text: str) -> dict[str, Any]:
    """The document as plain values; a ValueError or RecursionError when it cannot be read."""
    document: dict[str, Any] = _reader().loads(text)
    return document


def parse_document(text: str, path: str) -> dict[str, Any]:
    """The document as plain values; a ConfigSyntax names line and column when it is not TOML."""
    try:
        return loads(text)
    except (ValueError, RecursionError) as error:
        if isinstance(error, _reader().TOMLDecodeError):
            problem, line, column = _place_of(str(error), text)
            raise ConfigSyntax(path=path, line=line, column=column, problem=problem) from None
        raise ConfigSyntax(path=path, line=1, column=1, problem=_beyond_python(error)) from None


def _reader() -> Any:
    """Loaded when there is something to read: `--help` and a machine without a configuration need none."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib


def _beyond_python(error: ValueError | RecursionError) -> str:
    """What is TOML, but more than the reader can take."""
    return "nested too deeply" if isinstance(error, RecursionError) else "a number is too long"


def _place_of(message: str, text: str) -> tuple[str, int, int]:
    match = _PLACE.search(message)
    if match and match[1]:
        return message[: match.start()], int(match[1]), int(match[2])
    last_line = text.rpartition("\n")[2]
    problem = message[: match.start()] if match else message
    return f"{problem} (at the end of the file)", text.count("\n") + 1, len(last_line) + 1
