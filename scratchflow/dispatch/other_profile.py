"""What is said of another profile than the one that a command is for: its hints are typed for that one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from scratchflow.model.ages import naming
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.events import Emit, Event, Log, Warned


@contextmanager
def failures_of(profile: str) -> Iterator[None]:
    """Commands in what fails meanwhile, and in its next step, name this profile."""
    try:
        yield
    except ScratchflowError as error:
        error.rephrase(lambda text: naming(text, profile))
        raise


def remarks_of(profile: str, emit: Emit) -> Emit:
    """Passes on what is said; commands in it name this profile."""

    def pass_on(event: Event) -> None:
        if isinstance(event, Warned | Log):
            event = msgspec.structs.replace(event, message=naming(event.message, profile))
        emit(event)

    return pass_on
