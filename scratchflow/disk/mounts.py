"""Which mount points lie beneath a directory, as the kernel lists them.

`st_dev` alone does not show a bind mount from the same device: only the mount table does.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

MOUNTINFO = Path("/proc/self/mountinfo")

_ESCAPED = re.compile(rb"\\([0-7]{3})")


def mounts_beneath(directory: Path, mountinfo: Path = MOUNTINFO) -> list[bytes]:
    """Absolute paths of the mount points strictly beneath a directory, sorted.

    Symlinks in `directory` are resolved first, because the kernel lists real paths. Empty where the
    system has no mount table (macOS): there only a change of device shows a mount.
    """
    try:
        content = mountinfo.read_bytes()
    except FileNotFoundError:
        return []
    top = os.path.realpath(os.fsencode(directory)).rstrip(b"/") + b"/"
    points = {_mount_point(line) for line in content.splitlines()}
    return sorted(point for point in points if point.startswith(top) and point != top)


def is_mount_point(path: Path, mountinfo: Path = MOUNTINFO) -> bool:
    """Whether something is mounted at this very path, also a bind mount from the same device."""
    real = Path(os.fsdecode(os.path.realpath(os.fsencode(path))))
    return os.fsencode(real) in mounts_beneath(real.parent, mountinfo)


def _mount_point(line: bytes) -> bytes:
    """The fifth field of a line; spaces, tabs, newlines and backslashes are written in octal."""
    fields = line.split(b" ")
    return _ESCAPED.sub(lambda found: bytes([int(found[1], 8) & 255]), fields[4])
