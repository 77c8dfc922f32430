"""The profile's environment, where it lies beneath scratch and no snapshot has it: the next node will be without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from scratchflow.config.settings import Settings
from scratchflow.model.events import Emit, Warned
from scratchflow.model.profile import Profile
from scratchflow.node.environment.missing import directory_of, is_saved, made_again, save_command


def warn_of_environment(profile: Profile, emit: Emit) -> None:
    """Before a move: what is in no snapshot stays on the node."""
    for key, path in _left_out(profile, profile):
        command = save_command(profile, _first(path))
        message = (
            f"`environment.{key}` is `{path}` beneath scratch, and backups leave it out: the next node is without it,"
            f" and `run` and `serve` fail there. Before the move, `{command}` takes it along;"
            f" after it, {made_again(key, path)}"
        )
        emit(Warned(code="environment.not_saved", message=message))


def warn_of_environment_there(there: Settings, source: Profile, emit: Emit) -> None:
    """The same before a move to another cluster, whose profile names the environment that is used there."""
    for key, path in _left_out(there.profile, source):
        message = (
            f"`environment.{key}` of profile `{there.name}` is `{path}` beneath scratch, and no snapshot has it:"
            f" unless the node there has it already, `run` and `serve` fail there. After the move, {made_again(key, path)}"
        )
        emit(Warned(code="environment.not_saved", message=message))


def _left_out(profile: Profile, saved_by: Profile) -> Iterator[tuple[str, str]]:
    """Which environments of the profile lie beneath scratch, and in no snapshot that the other one's backups make."""
    for key in ("venv", "conda"):
        path = directory_of(profile.environment, key)
        is_beneath = bool(path) and not path.startswith("/")
        if is_beneath and not is_saved(saved_by, path):
            yield key, path


def _first(path: str) -> str:
    return next((part for part in PurePosixPath(path).parts if part != "."), "")
