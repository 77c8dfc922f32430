"""Where a profile's directories are on this machine."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scratchflow.model.profile import Profile

STATE_NAME = ".scratchflow"

_VARIABLE = re.compile(r"\$(?:USER|HOME)\b|\$\{(?:USER|HOME)\}")


@dataclass(frozen=True)
class Workspace:
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
    """The profile's workspace on this machine."""
    return Workspace(
        scratch=expand(profile.scratch, environment),
        name=profile.workspace,
        also=tuple(profile.backup.also),
    )


def expand(path: str, environment: Mapping[str, str]) -> Path:
    """`$USER`, `$HOME` and a leading `~` become this machine's; nothing else is expanded."""
    user, home = _identity(environment)
    values = {"USER": user, "HOME": home}
    expanded = _VARIABLE.sub(lambda match: values[match[0].strip("${}")], path)
    if expanded == "~" or expanded.startswith("~/"):
        expanded = home + expanded[1:]
    return Path(os.path.abspath(expanded))


def _identity(environment: Mapping[str, str]) -> tuple[str, str]:
    """Name and home of the user; a job step may come without the variables."""
    user, home = environment.get("USER"), environment.get("HOME")
    if user and home:
        return user, home
    entry = pwd.getpwuid(os.getuid())
    return user or entry.pw_name, home or entry.pw_dir
