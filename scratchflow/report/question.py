"""A question on the terminal: while it is open, no progress bar draws over it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from scratchflow.model.events import Answered, Asking, Emit


@contextmanager
def question_open(emit: Emit) -> Iterator[None]:
    """Everything that reads from the terminal, ssh's own questions included, happens inside this."""
    emit(Asking())
    try:
        yield
    finally:
        emit(Answered())
