"""What a restore checks before it touches anything: mounts, and directories that are closed to us."""

from __future__ import annotations

import errno
import os
import pwd
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, compress, count
from pathlib import Path
from shlex import quote

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
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK
from scratchflow.disk.durable import may_be_there
from scratchflow.disk.mounts import is_mount_point, mounts_beneath
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.restore import (
    MountInTheWay,
    NotSaved,
    OtherKindInTheWay,
    RestoreNotPermitted,
    WorkspaceOfOther,
)
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.source import Source
from scratchflow.store.directory import find_place
from scratchflow.store.nodes import read_nodes
from scratchflow.workspace.lock import has_loop
from scratchflow.workspace.notes import Base, noted_base

# What to do about a file that would be replaced and that nobody could save.
READABLE = "move it away or make it readable"


def keep_off_mounts(
    scanned: ScannedTree, delta: deltas.Delta, source: Source, notify: Notifier
) -> None:
    """Refuses a delta that would write beneath a mount point; what it would remove there stays."""
    mounts = _mounts_in(scanned.scratch, source.roots)
    mount = mount_in_the_way(delta, scanned, source.index, mounts)
    if mount is not None:
        raise _in_the_way(scanned.scratch / os.fsdecode(mount), source)
    for kept in kept_mounts(delta, scanned, mounts):
        notify.warn("files.mount", kept, "is a mount point, which the restore leaves alone")
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


def refuse_work_of_others(context: NodeContext) -> None:
    """WorkspaceOfOther if another profile, with another store, is at work in the directory that would be moved aside."""
    base = noted_base(context.workspace)
    if base is None or base.profile in {"", context.settings.name}:
        return
    if base.store == str(context.store):
        return
    number = _job_at_work(context, base)
    if number is None and not has_loop(context.workspace):
        return
    job = f" (job {number})" if number is not None else ""
    raise WorkspaceOfOther(
        path=context.workspace.path,
        profile=base.profile,
        job=job,
        own_scratch=quote(str(_own_scratch(context))),
    )


def _own_scratch(context: NodeContext) -> Path:
    """A directory for this profile alone. The workspace keeps its name there, by which the store has its snapshots."""
    stem = context.settings.name
    names = (f"{stem}{number}" for number in chain([""], count(2)))
    paths = (context.workspace.scratch / name for name in names)
    return next(path for path in paths if not may_be_there(path))


def _job_at_work(context: NodeContext, base: Base) -> int | None:
    """The job, not over yet, that the other store's record of this node names."""
    with suppress(ScratchflowError):
        place = find_place(Path(base.store), context.workspace.name)
        for record in read_nodes(place):
            number = record.job_id
            if record.node != context.node or number is None or number == context.job_id:
                continue
            if not context.is_job_over(number):
                return number
    return None


def refuse_foreign(scanned: ScannedTree, delta: deltas.Delta, source: Source) -> None:
    """RestoreNotPermitted for what we may not change: directories that are written to, files that go."""
    if os.geteuid() == 0:
        return
    groups = sorted(deltas.directories_written(delta, scanned, source.index))
    with scanned.handles() as handles:
        for group in groups:
            owner = _owner_who_keeps_us_out(scanned, group, handles)
            if owner is not None:
                directory = scanned.scratch / os.fsdecode(scanned.group_path(group))
                raise _not_permitted(directory, owner, source)
        for entry, owner in _kept_by_sticky_bits(scanned, delta, handles):
            path = scanned.scratch / os.fsdecode(scanned.path(entry))
            raise _not_permitted(path, owner, source)


def _kept_by_sticky_bits(
    scanned: ScannedTree, delta: deltas.Delta, handles: DirectoryHandles
) -> Iterator[tuple[int, int]]:
    """What has to go, but lies in a directory like /tmp and is somebody else's; with its owner."""
    for entry in deltas.entries_displaced(delta, scanned):
        group = scanned.group_of(entry)
        if not group or not scanned.mode[scanned.entry_of[group]] & stat.S_ISVTX:
            continue
        try:
            directory = handles.get(group)
            found = os.stat(scanned.names[entry], dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            continue
        if os.geteuid() not in {found.st_uid, os.fstat(directory).st_uid}:
            yield entry, found.st_uid


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


def refuse_closed_paths(scratch: Path, source: Source, select: Selection | None) -> None:
    """Refuses a part that has to be written into a directory that is closed to us, or where something of another kind is."""
    index = source.index
    chosen = select.entries if select else bytearray(b"\1") * len(index)
    with DirectoryHandles(index, os.fsencode(scratch)) as handles:
        on_disk = _OnDisk(scratch, source, handles)
        for entry in compress(range(len(index)), chosen):
            is_directory = index.mode[entry] & KIND_MASK == DIRECTORY
            if not is_directory or not on_disk.is_there(index.group_at(entry)):
                on_disk.require_writable(index.group_of(entry))
            if not is_directory:
                on_disk.require_no_directory(entry)


def refuse_closed_roots(scratch: Path, source: Source) -> None:
    """The same for roots that are to be renamed into place."""
    for root in source.roots:
        directory = (scratch / root).parent
        try:
            found = os.stat(directory, follow_symlinks=False)
            os.lstat(scratch / root)
        except PermissionError as error:
            raise _unreadable(scratch / root, error, source) from None
        except OSError:  # not there: it will be made
            continue
        if not os.access(directory, os.W_OK | os.X_OK, effective_ids=True):
            raise _not_permitted(directory, found.st_uid, source)


def refuse_unreadable_roots(scratch: Path, source: Source) -> None:
    """NotSaved for a root that may not be read though the snapshot holds something in it.

    Asked before a safety snapshot is taken: that would hold nothing of this root, and be the newest one.
    """
    index = source.index
    for root in source.roots:
        entry = index.find(os.fsencode(root))
        if entry is None or index.mode[entry] & KIND_MASK != DIRECTORY:
            continue
        try:
            if index.children[index.group_at(entry)]:
                os.scandir(scratch / root).close()
        except PermissionError as error:
            raise _unreadable(scratch / root, error, source) from None
        except OSError:  # not there, or no directory
            continue


class _OnDisk:
    """The directories of a snapshot as they are on disk now, each looked at once."""

    def __init__(self, scratch: Path, source: Source, handles: DirectoryHandles) -> None:
        self._scratch = scratch
        self._source = source
        self._handles = handles
        self._there = {0: True}
        self._writable: set[int] = set()

    def is_there(self, group: int) -> bool:
        """Whether it is, and can be read; NotSaved when nobody can tell what it holds."""
        unknown = []
        while group not in self._there:  # no recursion: directories may nest thousands deep
            unknown.append(group)
            group = self._source.index.parent_group(group)
        is_there = self._there[group]
        for inside in reversed(unknown):
            is_there = self._there[inside] = is_there and self._opens(inside)
        return is_there

    def _opens(self, group: int) -> bool:
        try:
            self._handles.get(group)
        except PermissionError as error:
            raise _unreadable(self._path(group), error, self._source) from None
        except OSError as error:
            if error.errno in {errno.ENOTDIR, errno.ELOOP}:
                raise _no_directory(self._path(group), self._source) from None
            return False  # not there: the restore will make it
        return True

    def require_no_directory(self, entry: int) -> None:
        """OtherKindInTheWay when a directory is where a file or a link belongs."""
        names, group = self._source.index.names, self._source.index.group_of(entry)
        if not self.is_there(group):
            return
        try:
            found = os.stat(names[entry], dir_fd=self._handles.get(group), follow_symlinks=False)
        except FileNotFoundError:
            return
        if stat.S_ISDIR(found.st_mode):
            path = self._path(group) / os.fsdecode(names[entry])
            raise OtherKindInTheWay(
                path=path, now="a directory", then="none", snapshot=self._source.id
            )

    def require_writable(self, group: int) -> None:
        """RestoreNotPermitted when it is there, and we may not write to it."""
        if group in self._writable or not self.is_there(group):
            return
        self._writable.add(group)
        descriptor = self._handles.get(group)
        if not os.access(".", os.W_OK | os.X_OK, dir_fd=descriptor, effective_ids=True):
            owner = os.fstat(descriptor).st_uid
            raise _not_permitted(self._path(group), owner, self._source)

    def _path(self, group: int) -> Path:
        return self._scratch / os.fsdecode(self._source.index.group_path(group))


def _no_directory(path: Path, source: Source) -> OtherKindInTheWay:
    now = "a link" if path.is_symlink() else "a file"
    return OtherKindInTheWay(path=path, now=now, then="a directory", snapshot=source.id)


def _unreadable(path: Path, error: OSError, source: Source) -> NotSaved:
    reason = f"it cannot be looked at: {error.strerror}"
    return NotSaved(path=path, reason=reason, remedy=READABLE, snapshot=source.id)


def _not_permitted(directory: Path, owner: int, source: Source) -> RestoreNotPermitted:
    return RestoreNotPermitted(path=directory, owner=_name_of(owner), snapshot=source.id)


def _mounts_in(scratch: Path, roots: Sequence[str]) -> list[bytes]:
    """The mount points inside the roots, from scratch down. A root that is one is meant to be there."""
    top = os.path.realpath(os.fsencode(scratch)).rstrip(b"/") + b"/"
    inside = tuple(os.fsencode(root) + b"/" for root in roots)
    mounts = (mount[len(top) :] for mount in mounts_beneath(scratch))
    return [mount for mount in mounts if mount.startswith(inside)]


def _in_the_way(path: Path, source: Source) -> MountInTheWay:
    return MountInTheWay(path=path, snapshot=source.id)


def _name_of(uid: int) -> str:
    if uid == os.geteuid():
        return "you"
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
