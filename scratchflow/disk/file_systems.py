"""What kind of file system a path is on, and whether other hosts see it too."""

from __future__ import annotations

import os
import re
from pathlib import Path

from scratchflow.disk.mounts import MOUNTINFO, unescaped

_NETWORK = re.compile(
    r"nfs\d?|lustre|gpfs|beegfs.*|ceph|fuse\.ceph.*|glusterfs|fuse\.glusterfs|wekafs|panfs|pvfs2|orangefs"
    r"|cifs|smb\d?|afs|9p|fuse\.sshfs|fhgfs|quobyte|moosefs|fuse\.mfs|vastnfs|cvmfs.*"
)


def file_system_of(path: Path, mountinfo: Path = MOUNTINFO) -> str:
    """The kernel's word for the file system that the path is on; empty where it does not say."""
    try:
        content = mountinfo.read_bytes()
    except OSError:
        return ""
    real = os.path.realpath(os.fsencode(path))
    kind, longest = "", -1
    for line in content.splitlines():
        mount, _, about = line.partition(b" - ")
        point = unescaped(mount.split(b" ", 5)[4])
        is_above = real == point or real.startswith(point.rstrip(b"/") + b"/")
        # Of two mounts at one point the later one is seen.
        if is_above and len(point) >= longest:
            longest, kind = len(point), about.split(b" ", 1)[0].decode("ascii", "replace")
    return kind


def is_shared(kind: str) -> bool | None:
    """True for a network file system. A local kind may still be exported to others: None for that.

    False only for what lives in one machine's memory.
    """
    if _NETWORK.fullmatch(kind):
        return True
    return False if kind in {"tmpfs", "ramfs"} else None
