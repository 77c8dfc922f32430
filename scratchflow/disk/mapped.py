"""Which files processes on this machine have mapped to write to them.

The kernel stamps a file when a mapped page becomes dirty, and not again while it stays dirty: a later
write to that page changes the content and neither mtime nor ctime. On tmpfs that lasts as long
as the mapping.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

PROC = Path("/proc")

# A line begins with address, permissions, offset, device and inode.
_WRITABLE_AND_SHARED = re.compile(rb"^\S+ .w.s \S+ \S+ (\d+)", re.MULTILINE)
_READ_BYTES = 1 << 16


def inodes_mapped_for_writing(proc: Path = PROC) -> set[int]:
    """The inodes of files that a process of this user maps shared and writable.

    The device is left out: for some file systems (btrfs, overlayfs) it is not the one that `stat`
    tells. Empty where there is no `/proc`. Processes of other users cannot be looked at.
    """
    try:
        processes = [name for name in os.listdir(proc) if name.isdigit()]
    except OSError:
        return set()
    found: set[int] = set()
    for process in processes:
        found.update(map(int, _WRITABLE_AND_SHARED.findall(_maps(f"{proc}/{process}/maps"))))
    return found


def _maps(path: str) -> bytes:
    """The mappings of a process; nothing when it is gone, or somebody else's."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    pieces = []
    try:
        while piece := os.read(descriptor, _READ_BYTES):
            pieces.append(piece)
    except OSError:  # it ended meanwhile
        pass
    finally:
        os.close(descriptor)
    return b"".join(pieces)
