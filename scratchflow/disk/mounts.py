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
    table = _Table(content)
    return sorted(point for point in table.visible_points() if point.startswith(top))


def is_mount_point(path: Path, mountinfo: Path = MOUNTINFO) -> bool:
    """Whether something is mounted at this very path, also a bind mount from the same device."""
    real = Path(os.fsdecode(os.path.realpath(os.fsencode(path))))
    return os.fsencode(real) in mounts_beneath(real.parent, mountinfo)


class _Table:
    """The mounts by their numbers, each with the number of the mount it is in and its point."""

    def __init__(self, content: bytes) -> None:
        self._mounts: dict[bytes, tuple[bytes, bytes]] = {}
        for line in content.splitlines():
            number, inside, _, _, point = line.split(b" ", 5)[:5]
            self._mounts[number] = inside, unescaped(point)
        self._taken = set(self._mounts.values())

    def visible_points(self) -> set[bytes]:
        """The points of all mounts that no later one hides."""
        return {point for number, (_, point) in self._mounts.items() if self._is_visible(number)}

    def _is_visible(self, number: bytes) -> bool:
        """Whether a path leads to a mount: none on the way up lies beneath another one's point.

        `mount` over a directory hides what was mounted inside before, which stays in the table.
        """
        seen = set()
        while number in self._mounts and number not in seen:
            seen.add(number)
            inside, point = self._mounts[number]
            while point := point.rpartition(b"/")[0]:
                if (inside, point) in self._taken:
                    return False
            number = inside
        return True


def unescaped(point: bytes) -> bytes:
    """Spaces, tabs, newlines and backslashes are written in octal."""
    return _ESCAPED.sub(lambda found: bytes([int(found[1], 8) & 255]), point)
