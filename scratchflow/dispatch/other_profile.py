"""What is said of another profile than the one that a command is for: it names that one, and its hints are typed for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from scratchflow.config.settings import Settings
from scratchflow.model.ages import naming
from scratchflow.model.errors.base import EndedBySignal, ScratchflowError
from scratchflow.model.events import Emit, Event, Log, Warned


@contextmanager
def failures_of(settings: Settings) -> Iterator[None]:
    """What fails meanwhile begins with this profile and its login host; commands in it, and in its next step, name the profile.

    The same path may be another directory on the cluster of the command's own profile.
    """
    try:
        yield
    except ScratchflowError as error:
        error.rephrase(lambda text: naming(text, settings.name))
        if not isinstance(error, EndedBySignal):
            error.begin_with(_of_profile(settings, str(error)))
        raise


def _of_profile(settings: Settings, said: str) -> str:
    """What stands before it; nothing where it names the profile already."""
    if f"`{settings.name}`" in said:
        return ""
    profile = settings.profile
    is_far = profile.scheduler == "slurm" and profile.login and f"`{profile.login}`" not in said
    return f"profile `{settings.name}`{f' (`{profile.login}`)' if is_far else ''}: "


def remarks_of(profile: str, emit: Emit) -> Emit:
    """Passes on what is said; commands in it name this profile."""

    def pass_on(event: Event) -> None:
        if isinstance(event, Warned | Log):
            event = msgspec.structs.replace(event, message=naming(event.message, profile))
        emit(event)

    return pass_on
