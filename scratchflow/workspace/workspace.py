"""Where a profile's directories are on this machine."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from scratchflow.model.errors import ConfigBadValue
from scratchflow.model.profile import PATH_VARIABLE, Profile

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


def find_workspace(profile: Profile, environment: Mapping[str, str]) -> Workspace:
    """The profile's workspace on this machine.

    Symlinks on the way to scratch are followed here, once; beneath it none is.
    """
    scratch = expand(profile.scratch, environment, key="scratch")
    return Workspace(
        scratch=Path(os.path.realpath(scratch)),
        name=profile.workspace,
        also=tuple(profile.backup.also),
    )


def expand(path: str, environment: Mapping[str, str], *, key: str = "store") -> Path:
    """`$USER`, `$HOME` and a leading `~` become this machine's; nothing else is expanded."""
    if path == "~" or path.startswith("~/"):
        path = f"$HOME{path[1:]}"
    expanded = PATH_VARIABLE.sub(
        lambda match: _of_this_user(match[1] or match[2], environment, key), path
    )
    if not os.path.isabs(expanded):  # it would be another directory wherever we are started
        problem = f"`{path}` is `{expanded}` on this machine, which is not an absolute path"
        raise ConfigBadValue(key=key, origin="profile", problem=problem)
    return Path(os.path.normpath(expanded))


def _of_this_user(name: str, environment: Mapping[str, str], key: str) -> str:
    """The user's name or home; a job step may come without the variables."""
    value = environment.get(name)
    if value:
        return value
    try:
        entry = pwd.getpwuid(os.getuid())
    except KeyError:
        problem = f"this machine does not say what `${name}` is; set {name}, or write the path out"
        raise ConfigBadValue(key=key, origin="profile", problem=problem) from None
    return entry.pw_name if name == "USER" else entry.pw_dir
