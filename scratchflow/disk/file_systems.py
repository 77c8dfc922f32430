"""What kind of file system a path is on, and whether other hosts see it too."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from scratchflow.disk.mounts import MOUNTINFO, unescaped

_NETWORK = re.compile(
    r"nfs\d?|lustre|gpfs|beegfs.*|ceph|fuse\.ceph.*|glusterfs|fuse\.glusterfs|wekafs|panfs|pvfs2|orangefs"
    r"|cifs|smb\d?|afs|9p|fuse\.sshfs|fhgfs|quobyte|moosefs|fuse\.mfs|vastnfs|cvmfs.*"
)


class Mounted(msgspec.Struct, frozen=True):
    """A file system in its place: the kernel's word for its kind, the device or server, the mount point."""

    kind: str
    source: str
    point: str


def file_system_of(path: Path, mountinfo: Path = MOUNTINFO) -> str:
    """The kernel's word for the file system that the path is on; empty where it does not say."""
    mounted = mounted_at(path, mountinfo)
    return mounted.kind if mounted else ""


def mounted_at(path: Path, mountinfo: Path = MOUNTINFO) -> Mounted | None:
    """The file system that the path is on; None where the kernel does not say."""
    try:
        content = mountinfo.read_bytes()
    except OSError:
        return None
    real = os.path.realpath(os.fsencode(path))
    found, longest = None, -1
    for line in content.splitlines():
        mount, _, about = line.partition(b" - ")
        point = unescaped(mount.split(b" ", 5)[4])
        is_above = real == point or real.startswith(point.rstrip(b"/") + b"/")
        # Of two mounts at one point the later one is seen.
        if is_above and len(point) >= longest:
            kind, source, *_ = [*about.split(b" "), b"", b""]
            longest = len(point)
            found = Mounted(
                kind.decode("ascii", "replace"),
                os.fsdecode(unescaped(source)),
                os.fsdecode(point),
            )
    return found


def is_shared(kind: str) -> bool | None:
    """True for a network file system. A local kind may still be exported to others: None for that.

    False only for what lives in one machine's memory.
    """
    if _NETWORK.fullmatch(kind):
        return True
    return False if kind in {"tmpfs", "ramfs"} else None
