"""The proposed profile as people read it: value and reason beside each other, in the terminal's width."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from scratchflow.flows.setup.propose import LABELS
from scratchflow.model.results.setup import SetupValue
from scratchflow.model.text import printable
from scratchflow.model.time_limit import in_minutes
from scratchflow.model.wrap import broken

_GAP = 2
_NARROWEST_REASON = 20


def proposal_lines(name: str, values: Sequence[SetupValue], columns: int = 0) -> Iterator[str]:
    """One line a value; a reason that does not fit goes on beneath itself, never mid-word."""
    width = columns or shutil.get_terminal_size().columns
    yield f"Profile `{printable(name)}`:"
    labels = [LABELS.get(one.key, one.key) for one in values]
    texts = [printable(_in_words(one)) for one in values]
    first = max(map(len, labels), default=0) + _GAP
    second = max(map(len, texts), default=0) + _GAP
    indent = 2 + first + second
    room = max(width - indent - 1, _NARROWEST_REASON)
    for label, text, one in zip(labels, texts, values, strict=True):
        reasons = broken(printable(one.reason), room)
        yield f"  {label:<{first}}{text:<{second}}{reasons[0]}".rstrip()
        yield from (" " * indent + reason for reason in reasons[1:])


def _in_words(one: SetupValue) -> str:
    return in_minutes(one.value) if one.key == "slurm.time" else one.value


def shown_home(path: Path) -> str:
    """The path with `~` for this machine's home."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def wrapped(text: str, columns: int = 0) -> list[str]:
    """A sentence in lines that the terminal does not break."""
    width = columns or shutil.get_terminal_size().columns
    return broken(text, max(width - 1, _NARROWEST_REASON)) if text else []
