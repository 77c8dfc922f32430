"""The profile's environment, where it lies beneath scratch and no snapshot has it: the next node will be without."""

from __future__ import annotations

from pathlib import PurePosixPath

from scratchflow.model.events import Emit, Warned
from scratchflow.model.profile import Profile


def warn_of_environment(profile: Profile, emit: Emit) -> None:
    """Before the old node is given back: what stays there is soon gone."""
    layers, saved = profile.environment, {_first(one) for one in profile.backup.also}
    # A conda environment without a `/` is one that conda knows by its name.
    for key, path in (
        ("venv", layers.venv),
        ("conda", layers.conda if "/" in layers.conda else ""),
    ):
        if not path or path.startswith(("/", "~", "$")) or _first(path) in saved:
            continue
        message = (
            f"`environment.{key}` is `{path}` beneath scratch, and in no snapshot: the next node is without it."
            f" `scratchflow config set backup.also '[\"{_first(path)}\"]'` takes it along from now on"
        )
        emit(Warned(code="hop.environment", message=message))


def _first(path: str) -> str:
    return next((part for part in PurePosixPath(path).parts if part != "."), "")
