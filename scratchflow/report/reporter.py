"""What every reporter does: take events while a command runs, and close with its outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.events import Event
from scratchflow.model.results.base import Result


class Reporter(Protocol):
    """The seam between a running command and whoever watches it."""

    def begin(self, op: str, show: Callable[[Any], Iterable[str]]) -> None:
        """The command is known; events follow. `show` makes lines for people of its results."""

    def emit(self, event: Event) -> None:
        """Something happened."""

    def succeed(self, result: Result, shown: Iterable[str]) -> int:
        """It worked. `shown` is the result in lines for people. Returns the exit code."""

    def fail(self, error: ScratchflowError) -> int:
        """It did not. Returns the exit code."""

    def close(self) -> None:
        """Nothing more will come; safe to call at any time."""
