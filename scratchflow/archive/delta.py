"""Turns a workspace into another snapshot by writing only what differs.

`apply` may be killed at any moment and run again: it looks at the workspace as it is, every file
is old or new, and deletions come last.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from scratchflow.archive.cache import ScanCache
from scratchflow.archive.contents import FileRestorer
from scratchflow.archive.differences import Delta, find_delta
from scratchflow.archive.dirfds import DirectoryHandles
from scratchflow.archive.index import Index
from scratchflow.archive.placing import Placer, Placing, translated
from scratchflow.archive.planning import Plan, plan
from scratchflow.archive.progress import Progress, no_progress, usable_cores
from scratchflow.archive.reader import Archives, OpenArchive
from scratchflow.archive.scan import ScannedTree, Warn, clamped_ns
from scratchflow.archive.tree import DIRECTORY, KIND_MASK, REGULAR
from scratchflow.model.errors import TargetNotEmpty

__all__ = [
    "Applied",
    "Changes",
    "Delta",
    "apply",
    "changed_since_scan",
    "changes_since",
    "find_delta",
]


class Changes(msgspec.Struct, frozen=True):
    """What a workspace holds that a snapshot does not; paths from scratch down."""

    added: list[bytes]
    modified: list[bytes]
    deleted: list[bytes]

    def __bool__(self) -> bool:
        return bool(self.added or self.modified or self.deleted)


class Applied(msgspec.Struct, frozen=True):
    """What `apply` did."""

    written_files: int
    written_bytes: int
    removed: int
    touched: frozenset[int] = frozenset()  # wanted entries that are new on disk, or have new stamps


def changes_since(
    base: Index, scanned: ScannedTree, cache: ScanCache | None, warn: Warn
) -> Changes:
    """What changed in the workspace since it equalled `base`: exactly what a backup would store."""
    return _changes(plan(scanned, base, cache, warn=warn))


def _changes(planned: Plan) -> Changes:
    scanned, found = planned.scanned, planned.found
    assert planned.parent  # noqa: S101 - the caller gave one
    known = found.replaced
    added = [scanned.path(entry) for entry in found.new if entry not in known]
    modified = [scanned.path(entry) for entry in found.new if entry in known]
    # A file that only moved is in `touched` with its new path, and in `gone` with the old one.
    for entry in found.touched:
        path = scanned.path(entry)
        (modified if planned.parent.find(path) is not None else added).append(path)
    deleted = [planned.parent.path(entry) for entry in found.gone]
    return Changes(sorted(added), sorted(modified), sorted(deleted))


def changed_since_scan(delta: Delta, scanned: ScannedTree) -> Iterator[bytes]:
    """Paths that the delta would replace or remove, but that are not what was scanned any more."""
    doomed = [*delta.over]
    for entry in (*delta.clear, *delta.remove):
        doomed += _with_content(scanned, entry)
    with scanned.handles() as handles:
        for entry in doomed:
            if scanned.mode[entry] & KIND_MASK == DIRECTORY:
                continue
            try:
                directory = handles.get(scanned.group_of(entry))
                found = os.stat(scanned.names[entry], dir_fd=directory, follow_symlinks=False)
            except OSError:
                continue  # gone: nothing to lose
            stamps = found.st_ino, clamped_ns(found.st_ctime_ns)
            if stamps != (scanned.inode[entry], scanned.ctime_ns[entry]):
                yield scanned.path(entry)


def _with_content(scanned: ScannedTree, entry: int) -> list[int]:
    """An entry of the scan and all it is known to hold, each directory before its content."""
    found = [entry]
    for directory in found:  # grows while it is walked
        if scanned.mode[directory] & KIND_MASK == DIRECTORY:
            group = scanned.group_at(directory)
            found.extend(range(scanned.first[group], scanned.first[group + 1]))
    return found


def apply(
    delta: Delta,
    scanned: ScannedTree,
    wanted: Index,
    open_archive: OpenArchive,
    *,
    warn: Warn,
    threads: int | None = None,
    progress: Progress = no_progress,
) -> Applied:
    """Does what `find_delta` found, in the very directory that was scanned.

    What a snapshot never holds (ignored paths) stays; a directory that is not wanted but holds
    such paths stays with a warning. Where such a directory is in the way of a file, nothing is
    deleted: TargetNotEmpty.
    """
    scratch = os.open(scanned.scratch, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with Archives(wanted, open_archive) as archives:
            return _Application(delta, scanned, wanted, archives, scratch, warn).run(
                threads or usable_cores(), progress
            )
    except OSError as error:
        raise translated(error, scanned.scratch) from error
    finally:
        os.close(scratch)


class _Application:
    def __init__(
        self,
        delta: Delta,
        scanned: ScannedTree,
        wanted: Index,
        archives: Archives,
        scratch: int,
        warn: Warn,
    ) -> None:
        self.delta = delta
        self.scanned = scanned
        self.wanted = wanted
        self.archives = archives
        self.scratch = scratch
        self.warn = warn
        self.removed = 0
        self.opened_up: list[int] = []

    def run(self, threads: int, progress: Progress) -> Applied:
        delta, wanted = self.delta, self.wanted
        placing = Placing(wanted, self.scratch, self.warn, replace=True)
        placer = placing.placer()
        restorer = FileRestorer(self.archives, placing, threads=threads, progress=progress)
        try:
            with DirectoryHandles(self.scanned, self.scratch) as on_disk:
                self._open_up(on_disk)
                for entry in delta.clear:
                    self._remove(on_disk, entry, required=True)
            for entry in sorted(delta.directories):
                placer.directory(entry)
            restorer.restore(delta.files)
            self._fix_files(placer)
            for entry in delta.hardlinks:
                placer.hardlink(entry, wanted.hardlinks[entry])
            for entry in delta.symlinks:
                placer.symlink(entry)
            with DirectoryHandles(self.scanned, self.scratch) as on_disk:
                for entry in delta.remove:
                    self._remove(on_disk, entry, required=False)
            fixed = self._fix_directories(placer)
        finally:
            placer.close()
        written = restorer.files + len(delta.hardlinks)
        touched = frozenset(
            (*delta.files, *delta.metadata, *delta.symlinks, *self._links(), *fixed)
        )
        return Applied(written, restorer.bytes, self.removed, touched)

    def _links(self) -> Iterator[int]:
        """Further names of files, and the files: a link more is a change time more."""
        for entry in self.delta.hardlinks:
            yield entry
            yield self.wanted.hardlinks[entry]

    def _open_up(self, on_disk: DirectoryHandles) -> None:
        """Directories that we may not write to get their wanted mode back at the end."""
        scanned = self.scanned
        for entry in scanned.dir_entries:
            if scanned.mode[entry] & 0o700 != 0o700:
                parent = on_disk.get(scanned.group_of(entry))
                name = scanned.names[entry]
                current = os.stat(name, dir_fd=parent, follow_symlinks=False)
                if stat.S_ISDIR(current.st_mode):
                    mode = stat.S_IMODE(current.st_mode) | 0o700
                    os.chmod(name, mode, dir_fd=parent)
                    self.opened_up.append(entry)

    def _fix_files(self, placer: Placer) -> None:
        for entry in self.delta.metadata:
            if self.wanted.mode[entry] & KIND_MASK == REGULAR:
                placer.file_metadata(entry)

    def _fix_directories(self, placer: Placer) -> set[int]:
        """Mode and mtime of every directory that we changed, or changed something in."""
        delta, wanted, scanned = self.delta, self.wanted, self.scanned
        groups = {
            wanted.group_of(entry)
            for part in (delta.files, delta.directories, delta.symlinks, delta.hardlinks)
            for entry in part
        }
        affected = {wanted.entry_of[group] for group in groups if group}
        affected.update(e for e in delta.metadata if wanted.mode[e] & KIND_MASK == DIRECTORY)
        affected.update(delta.directories)
        removed_in = {scanned.group_of(e) for part in (delta.remove, delta.clear) for e in part}
        paths = [scanned.group_path(group) for group in removed_in if group]
        paths += [scanned.path(entry) for entry in self.opened_up]
        found = [wanted.find(path) for path in paths]
        affected.update(e for e in found if e is not None)
        for entry in sorted(affected, reverse=True):
            if wanted.mode[entry] & KIND_MASK == DIRECTORY:
                placer.directory_metadata(entry)
        return affected

    def _remove(self, on_disk: DirectoryHandles, entry: int, *, required: bool) -> None:
        """Removes an entry of the scan and all it is known to hold, deepest first."""
        for path_entry in reversed(_with_content(self.scanned, entry)):
            self._remove_one(on_disk, path_entry, required=required)

    def _remove_one(self, on_disk: DirectoryHandles, entry: int, *, required: bool) -> None:
        scanned = self.scanned
        name = scanned.names[entry]
        try:
            directory = on_disk.get(scanned.group_of(entry))
            if scanned.mode[entry] & KIND_MASK == DIRECTORY:
                os.rmdir(name, dir_fd=directory)
            else:
                os.unlink(name, dir_fd=directory)
            self.removed += 1
        except FileNotFoundError:
            return
        except OSError:
            path = scanned.path(entry)
            if required:
                target = Path(os.fsdecode(path))
                raise TargetNotEmpty(target=target) from None
            self.warn("files.kept", path, "is not in the snapshot, but holds ignored files")
