"""Where a profile's directories are on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from scratchflow.model.errors.config import ConfigBadValue
from scratchflow.model.profile import Profile, path_names, require_beneath
from scratchflow.workspace.path_names import with_names

STATE_NAME = ".scratchflow"


class Workspace(msgspec.Struct, frozen=True):
    """The workspace, what is saved with it, and the directory beside it where we keep notes."""

    scratch: Path
    name: str
    also: Sequence[str] = ()

    @property
    def path(self) -> Path:
        """`/scratch/$USER/work`."""
        return self.scratch / self.name

    @property
    def roots(self) -> list[str]:
        """Everything that goes into a snapshot, by its name beneath scratch."""
        return [self.name, *self.also]

    @property
    def state(self) -> Path:
        """Our notes. Beside the workspace, because they share its fate: no scratch, no notes."""
        return self.scratch / STATE_NAME / self.name


def find_workspace(
    profile: Profile, environment: Mapping[str, str], *, scratch: str = "", where: str = ""
) -> Workspace:
    """The profile's workspace on this machine; `scratch` is where its job has it, if that is known.

    `where` says whose environment this is, for an error. Symlinks on the way to scratch are followed here, once; beneath it none is.
    """
    place = (
        Path(scratch)
        if scratch
        else expand(profile.scratch, environment, key="scratch", where=where)
    )
    real = os.path.realpath(place)
    return Workspace(
        scratch=Path(real),
        name=profile.workspace,
        also=tuple(_beneath(one, {str(place), real}, environment) for one in profile.backup.also),
    )


def workspace_as_written(profile: Profile) -> Workspace:
    """The same where nobody can say what its names mean, to be shown and not to be used."""
    return Workspace(Path(profile.scratch), profile.workspace, tuple(profile.backup.also))


def expand(
    path: str, environment: Mapping[str, str], *, key: str = "store", where: str = ""
) -> Path:
    """`$NAME`, `${NAME}` and a leading `~` become this machine's; nothing else is expanded."""
    expanded = with_names(path, environment, key=key, where=where)
    if not os.path.isabs(expanded):  # it would be another directory wherever we are started
        problem = f"`{path}` is `{expanded}` on this machine, which is not an absolute path"
        raise ConfigBadValue(key=key, origin="profile", problem=problem)
    return Path(os.path.normpath(expanded))


def _beneath(path: str, scratches: set[str], environment: Mapping[str, str]) -> str:
    """One of `backup.also` by its name beneath scratch, which it may begin with."""
    if not path_names(path):
        return path
    expanded = with_names(path, environment, key="backup.also")
    for scratch in scratches:
        expanded = expanded.removeprefix(f"{scratch}/")
    try:
        require_beneath("also", expanded)
    except ValueError as error:
        raise ConfigBadValue(key="backup.also", origin="profile", problem=error) from None
    return expanded


def link_seen(workspace: Workspace) -> str:
    """The symlink that keeps the workspace from being saved; empty when there is none, and when nobody can look."""
    try:
        return str(linked_root(workspace.scratch, workspace.roots) or "")
    except OSError:
        return ""


def linked_root(scratch: Path, roots: Sequence[str]) -> Path | None:
    """The first symlink on the way from scratch to what is saved: a scan follows none, and only the link would be saved.

    What lies in a directory that may not be read is left for the scan to warn of.
    """
    for root in roots:
        path = scratch
        for part in root.split("/"):
            path /= part
            try:
                is_link = path.is_symlink()
            except PermissionError:
                break
            if is_link:
                return path
    return None
