"""Mount points inside a workspace: a scan does not enter them, and does not even look at them.

What is mounted there belongs to somebody else (a home directory, a container's image), may be
larger than the workspace, and may never answer (a server that is gone).
"""

from __future__ import annotations

import os
import stat
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from scratchflow.disk.mounts import MOUNTINFO, mounts_beneath

# What is there before the mount cannot be seen; this is what a restore makes.
_DIRECTORY_MODE = stat.S_IFDIR | 0o755
# No kind at all: something that is not a directory is mounted over.
MOUNTED_FILE = 0
NOT_ENTERED = (
    "is a mount point: it is saved as an empty directory, without what is mounted there; "
    "what earlier snapshots hold beneath it is not in this one"
)
NOT_SAVED = "is a file that something is mounted over, which is not saved"


class Mounts:
    """The mount points by the directory they are in; nothing costs anything when there are none."""

    def __init__(self, paths: Iterable[bytes] = (), *, by_device: bool = False) -> None:
        """`paths` go from scratch down. `by_device`: the system does not list its mounts."""
        self._names: dict[bytes, set[bytes]] = defaultdict(set)
        self.by_device = by_device
        for path in paths:
            above, slash, name = path.rpartition(b"/")
            self._names[above + slash].add(name)

    def __bool__(self) -> bool:
        return self.by_device or bool(self._names)

    def names_in(self, directory: bytes) -> set[bytes]:
        """The names of the mount points in a directory, whose path ends in a slash."""
        return self._names.get(directory, set())

    def has(self, path: bytes) -> bool:
        """Whether this directory, whose path ends in a slash, is a mount point."""
        above, slash, name = path[:-1].rpartition(b"/")
        return name in self.names_in(above + slash)

    def note_other_devices(
        self, directory: bytes, device: int, names: list[bytes], found: list[os.stat_result]
    ) -> None:
        """Takes what lies on another device than its directory for a mount point."""
        for name, stats in zip(names, found, strict=True):
            if stats.st_dev != device:
                self._names[directory].add(name)


def mounts_inside(scratch: Path, roots: Sequence[str]) -> Mounts:
    """The mounts in `scratch` that a scan of the roots must not enter.

    A root that is a mount point itself, or lies beneath one, is what the user wants saved.
    """
    top = os.path.realpath(os.fsencode(scratch)).rstrip(b"/") + b"/"
    wanted = [os.fsencode(root) + b"/" for root in roots]
    paths = [path.removeprefix(top) for path in mounts_beneath(scratch)]
    return Mounts(
        (path for path in paths if not any(root.startswith(path + b"/") for root in wanted)),
        by_device=sys.platform != "linux" and not MOUNTINFO.exists(),
    )


def stand_ins(descriptor: int, names: set[bytes]) -> dict[bytes, os.stat_result]:
    """What a scan notes of the mount points in an open directory, without a look at them.

    The directory's own listing says which of them are directories.
    """
    with os.scandir(descriptor) as listed:
        found = {os.fsencode(entry.name): entry for entry in listed}
        return {
            name: _stand_in(is_directory=found[name].is_dir(follow_symlinks=False))
            for name in names & found.keys()
        }


def _stand_in(*, is_directory: bool) -> os.stat_result:
    mode = _DIRECTORY_MODE if is_directory else MOUNTED_FILE
    times = {"st_atime_ns": 0, "st_mtime_ns": 0, "st_ctime_ns": 0}
    return os.stat_result((mode, 0, 0, 2, 0, 0, 0, 0, 0, 0), times)
