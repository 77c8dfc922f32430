"""The profile's environment, where it lies beneath scratch and no snapshot has it: the next node will be without."""

from __future__ import annotations

from pathlib import PurePosixPath

from scratchflow.model.events import Emit, Warned
from scratchflow.model.profile import Profile
from scratchflow.node.environment.missing import directory_of, save_command

NEXT_NODE = "the next node is without it"
JOB_OF_NOW = "the job will fail"
JOB_OF_A_SNAPSHOT = "the job will fail unless its snapshot has it"


def warn_of_environment(profile: Profile, emit: Emit, so: str) -> None:
    """Before it is missed: what is in no snapshot stays on the node."""
    saved = [PurePosixPath(one) for one in (profile.workspace, *profile.backup.also)]
    for key in ("venv", "conda"):
        path = directory_of(profile.environment, key)
        if not path or path.startswith("/"):
            continue
        if any(PurePosixPath(path).is_relative_to(one) for one in saved):
            continue
        message = (
            f"`environment.{key}` is `{path}` beneath scratch, and backups leave it out: {so}."
            f" `{save_command(profile, _first(path))}` takes it along from now on"
        )
        emit(Warned(code="environment.not_saved", message=message))


def _first(path: str) -> str:
    return next((part for part in PurePosixPath(path).parts if part != "."), "")
