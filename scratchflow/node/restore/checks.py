"""What a restore checks before it touches anything: mounts, and directories that we may not write to."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence
from pathlib import Path

from scratchflow.archive.compare.around_mounts import (
    chosen_beneath,
    kept_mounts,
    mount_in_the_way,
    spare_mounts,
)
from scratchflow.archive.files.handles import DirectoryHandles
from scratchflow.archive.read.selection import Selection
from scratchflow.archive.restore import apply_delta as deltas
from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.disk.mounts import is_mount_point, mounts_beneath
from scratchflow.model.errors import MountInTheWay, RestoreNotPermitted
from scratchflow.node.progress import Teller
from scratchflow.node.restore.source import Source


def keep_off_mounts(
    scanned: ScannedTree, delta: deltas.Delta, source: Source, teller: Teller
) -> None:
    """Refuses a delta that would write beneath a mount point; what it would remove there stays."""
    mounts = _mounts_in(scanned.scratch, source.roots)
    mount = mount_in_the_way(delta, scanned, source.index, mounts)
    if mount is not None:
        raise _in_the_way(scanned.scratch / os.fsdecode(mount), source)
    for kept in kept_mounts(delta, scanned, mounts):
        teller.warn("files.mount", kept, "is a mount point, which the restore leaves alone")
    spare_mounts(delta, scanned, source.index, mounts)


def refuse_mounted_paths(scratch: Path, source: Source, select: Selection | None) -> None:
    """MountInTheWay if something that was chosen lies beneath a mount point."""
    mounts = _mounts_in(scratch, source.roots)
    chosen = select.entries if select else bytearray(b"\1") * len(source.index)
    mount = chosen_beneath(source.index, chosen, mounts)
    if mount is not None:
        raise _in_the_way(scratch / os.fsdecode(mount), source)


def refuse_moving_mounts(scratch: Path, roots: Sequence[str], source: Source) -> None:
    """MountInTheWay if something would have to be moved aside that is, or holds, a mount point."""
    for root in roots:
        if is_mount_point(scratch / root):
            raise _in_the_way(scratch / root, source)
        for mount in mounts_beneath(scratch / root):
            raise _in_the_way(Path(os.fsdecode(mount)), source)


def is_filled_in_place(scratch: Path, roots: Sequence[str]) -> bool:
    """Whether a root is a mount point: nothing can be renamed to where it is."""
    return any(is_mount_point(scratch / root) for root in roots)


def refuse_foreign(scanned: ScannedTree, delta: deltas.Delta, source: Source) -> None:
    """RestoreNotPermitted for a directory that has to be written to, and that we may not open up."""
    if os.geteuid() == 0:
        return
    groups = sorted(deltas.directories_written(delta, scanned, source.index))
    with scanned.handles() as handles:
        for group in groups:
            owner = _owner_who_keeps_us_out(scanned, group, handles)
            if owner is not None:
                directory = scanned.scratch / os.fsdecode(scanned.group_path(group))
                raise RestoreNotPermitted(path=directory, owner=_name_of(owner), snapshot=source.id)


def _owner_who_keeps_us_out(
    scanned: ScannedTree, group: int, handles: DirectoryHandles
) -> int | None:
    """Who owns a directory of the scan that is not ours and that we may not write to."""
    name, above = b".", handles.get(0)
    if group:
        entry = scanned.entry_of[group]
        try:
            name, above = scanned.names[entry], handles.get(scanned.group_of(entry))
        except FileNotFoundError:
            return None
    try:
        found = os.stat(name, dir_fd=above, follow_symlinks=False)
    except FileNotFoundError:
        return None
    may_write = os.access(name, os.W_OK | os.X_OK, dir_fd=above, effective_ids=True)
    return None if found.st_uid == os.geteuid() or may_write else found.st_uid


def _mounts_in(scratch: Path, roots: Sequence[str]) -> list[bytes]:
    """The mount points inside the roots, from scratch down. A root that is one is meant to be there."""
    top = os.path.realpath(os.fsencode(scratch)).rstrip(b"/") + b"/"
    inside = tuple(os.fsencode(root) + b"/" for root in roots)
    mounts = (mount[len(top) :] for mount in mounts_beneath(scratch))
    return [mount for mount in mounts if mount.startswith(inside)]


def _in_the_way(path: Path, source: Source) -> MountInTheWay:
    return MountInTheWay(path=path, snapshot=source.id)


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
