"""The profile's venv or conda environment that is not on the node: found by a look at its directory, no shell is started."""

from __future__ import annotations

import os
import posixpath
import shlex
from pathlib import Path, PurePosixPath

import msgspec

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.jobs import JobLacksEnvironment
from scratchflow.model.profile import EnvironmentOptions, Profile

ENVIRONMENT_MISSING = "environment.missing"
# What lies there when it can be activated.
_WITHIN = {"venv": "bin/activate", "conda": "conda-meta"}
# Only a shell on the node knows what such a path means.
_FOR_A_SHELL = ("~", "$")


def missing_layer(options: EnvironmentOptions, scratch: Path) -> str:
    """`venv` or `conda`, when the directory that it names is not there; empty when nothing is known to be missing."""
    for layer, within in _WITHIN.items():
        path = directory_of(options, layer)
        if path and not os.path.lexists(scratch / path / within):
            return layer
    return ""


def directory_of(options: EnvironmentOptions, layer: str) -> str:
    """The directory that a layer names, as it is set; empty when it names none, or only a shell can tell which."""
    path = options.venv if layer == "venv" else options.conda
    # A conda environment without a `/` is one that conda knows by its name.
    is_name = layer == "conda" and "/" not in path
    return "" if is_name or path.startswith(_FOR_A_SHELL) else path


def is_saved(profile: Profile, path: str) -> bool:
    """Whether backups take this directory beneath scratch along."""
    saved = [PurePosixPath(one) for one in (profile.workspace, *profile.backup.also)]
    return any(PurePosixPath(path).is_relative_to(one) for one in saved)


def why_a_job_lacks_it(profile: Profile, path: str, job: str) -> str:
    """What to do about a job whose snapshot has no such environment."""
    if not is_saved(profile, path):
        return "`backup.also` names what is saved beside the workspace"
    return (
        "the snapshot that it runs from does not have it;"
        f" `scratchflow jobs rerun --current {job}` runs it from the workspace as it is now"
    )


def save_command(profile: Profile, name: str) -> str:
    """The command with which backups take this directory beneath scratch along, with what they take already."""
    others = [one for one in profile.backup.also if not PurePosixPath(one).is_relative_to(name)]
    also = msgspec.json.encode([*others, name]).decode()
    return f"scratchflow config set backup.also {shlex.quote(also)}"


def missing_in_words(profile: Profile, layer: str, node: str) -> tuple[str, str]:
    """What is wrong, and what to do about it."""
    path = directory_of(profile.environment, layer)
    detail = f"`environment.{layer}` is `{path}`, which is not on `{node}`: `run` and `serve` fail, `shell` opens without it"
    return (
        detail,
        f"{_way_back(profile, layer, path)}; `scratchflow config unset environment.{layer}` does without",
    )


def require_for_job(profile: Profile, scratch: Path, node: str) -> None:
    """JobLacksEnvironment when no snapshot of this moment would have it: then none has to be taken."""
    for layer in _WITHIN:
        path = directory_of(profile.environment, layer)
        if not path or path.startswith("/"):
            continue
        named = f"`environment.{layer}` is `{path}` beneath scratch"
        if not is_saved(profile, path):
            command = save_command(profile, posixpath.normpath(path).split("/")[0])
            reason = f"{named}, and backups leave it out"
            next_step = f"`{command}` takes it along; then run this command again"
            raise JobLacksEnvironment(reason=reason, next_step=next_step)
        if not os.path.lexists(scratch / path):
            reason = f"{named}, and is not on `{node}`"
            raise JobLacksEnvironment(reason=reason, next_step=_way_back(profile, layer, path))


def shell_without(error: ScratchflowError) -> str:
    """A shell opens although its environment fails: it takes one to mend that."""
    return f"the shell starts without the profile's environment: {error}; {error.shown_hint}"


def made_again(layer: str, path: str) -> str:
    """What makes the environment again on a node that is without it."""
    if not _is_made_by_create(path):
        return "make it again there"
    return f"`scratchflow create --env {layer} --packages …` makes it again with the packages that you name"


def _is_made_by_create(path: str) -> bool:
    return PurePosixPath(path) == PurePosixPath("env")


def _way_back(profile: Profile, layer: str, path: str) -> str:
    if is_saved(profile, path):
        return f"`scratchflow restore --path {shlex.quote(path)}` brings it from the newest snapshot, if that has it"
    if not _is_made_by_create(path):
        return made_again(layer, path)
    return (
        f"{made_again(layer, path)},"
        f" and `{save_command(profile, 'env')}` takes it along from now on"
    )
