"""Turns a workspace into another snapshot by writing only what differs.

`apply` may be killed at any moment and run again: it looks at the workspace as it is, every file
is old or new, and deletions come last.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress

import msgspec

from scratchflow.archive.compare.delta import Delta, find_delta
from scratchflow.archive.compare.plan import Plan, plan
from scratchflow.archive.files.handles import DirectoryHandles
from scratchflow.archive.progress import Progress, no_progress, usable_cores
from scratchflow.archive.read.archives import Archives, OpenArchive
from scratchflow.archive.restore.displace import Displacer, Displacing
from scratchflow.archive.restore.file_restorer import FileRestorer
from scratchflow.archive.restore.link_files import place_links, write_refused
from scratchflow.archive.restore.placer import Placer, Placing, translated
from scratchflow.archive.scan.cache import ScanCache
from scratchflow.archive.scan.scan import ScannedTree, Warn, clamped_ns
from scratchflow.archive.tree.finder import PathFinder
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, REGULAR, Tree

__all__ = [
    "Applied",
    "Changes",
    "Delta",
    "apply",
    "changed_since_scan",
    "changes_since",
    "directories_written",
    "entries_displaced",
    "entries_removed",
    "find_delta",
    "unknown_in_the_way",
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
    with scanned.handles() as handles:
        for entry in entries_displaced(delta, scanned):
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


def unknown_in_the_way(delta: Delta, scanned: ScannedTree) -> Iterator[bytes]:
    """Paths in directories that have to make room for a file, but that the scan passed over."""
    with scanned.handles() as handles:
        for entry in delta.clear:
            for directory in _with_content(scanned, entry):
                if scanned.mode[directory] & KIND_MASK != DIRECTORY:
                    continue
                group = scanned.group_at(directory)
                known = scanned.names.slice(scanned.first[group], scanned.first[group + 1])
                try:
                    found = os.listdir(handles.get(group))
                except FileNotFoundError:
                    continue
                path = scanned.path(directory)
                yield from (
                    path + b"/" + name for name in set(map(os.fsencode, found)) - set(known)
                )


def entries_displaced(delta: Delta, scanned: ScannedTree) -> Iterator[int]:
    """The entries of the scan that the delta replaces or removes."""
    yield from delta.over
    yield from entries_removed(delta, scanned)


def entries_removed(delta: Delta, scanned: ScannedTree) -> Iterator[int]:
    """Those of them that go: what is not wanted, and what is in the way of another kind of entry."""
    for entry in (*delta.clear, *delta.remove):
        yield from _with_content(scanned, entry)


def directories_written(delta: Delta, scanned: ScannedTree, wanted: Index) -> set[int]:
    """The groups of the scan in which the delta makes, replaces or removes something."""
    groups = {scanned.group_of(entry) for entry in entries_displaced(delta, scanned)}
    parts = (delta.files, delta.directories, delta.symlinks, delta.hardlinks)
    wanted_groups = {wanted.group_of(entry) for part in parts for entry in part}
    finder = PathFinder(scanned)
    for path in map(wanted.group_path, wanted_groups):
        entry = finder.find(path) if path else None
        if entry is not None and scanned.mode[entry] & KIND_MASK == DIRECTORY:
            groups.add(scanned.group_at(entry))
        elif not path:
            groups.add(0)
    return groups


def _with_content(scanned: ScannedTree, entry: int) -> list[int]:
    """An entry of the scan and all it is known to hold, each directory before its content."""
    found = [entry]
    for directory in found:  # grows while it is walked
        if scanned.mode[directory] & KIND_MASK == DIRECTORY:
            group = scanned.group_at(directory)
            found.extend(range(scanned.first[group], scanned.first[group + 1]))
    return found


def _is_directory(tree: Tree, entry: int) -> bool:
    return tree.mode[entry] & KIND_MASK == DIRECTORY


def apply(
    delta: Delta,
    scanned: ScannedTree,
    wanted: Index,
    open_archive: OpenArchive,
    *,
    displacing: Displacing,
    threads: int | None = None,
    progress: Progress = no_progress,
) -> Applied:
    """Does what `find_delta` found, in the very directory that was scanned.

    What a snapshot never holds (ignored paths) stays; a directory that is not wanted but holds
    such paths stays with a warning. Where such a directory is in the way of a file, it goes aside.
    """
    scratch = os.open(scanned.scratch, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with Archives(wanted, open_archive) as archives:
            return _Application(delta, scanned, wanted, archives, scratch, displacing).run(
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
        displacing: Displacing,
    ) -> None:
        self.delta = delta
        self.scanned = scanned
        self.wanted = wanted
        self.archives = archives
        self.scratch = scratch
        self.displacing = displacing
        self.displacer = Displacer(displacing)
        self.warn = displacing.warn
        self.removed = 0
        self.opened_up: list[int] = []

    def run(self, threads: int, progress: Progress) -> Applied:
        delta, wanted = self.delta, self.wanted
        placing = Placing(wanted, self.scratch, self.warn, self.displacing)
        placer = placing.placer()
        restorer = FileRestorer(
            self.archives, placing, threads=threads, progress=progress, older=delta.older
        )
        try:
            with DirectoryHandles(self.scanned, self.scratch) as on_disk:
                self._open_up(on_disk)
                for entry in delta.clear:
                    self._make_room(on_disk, entry)
            for entry in sorted(delta.directories):
                placer.directory(entry)
            restorer.restore(delta.files)
            self._fix_files(placer)
            refused = place_links(((e, wanted.hardlinks[e]) for e in delta.hardlinks), placer)
            copied_bytes = write_refused(refused, placer, self.archives, placing)
            for entry in delta.symlinks:
                placer.symlink(entry)
            with DirectoryHandles(self.scanned, self.scratch) as on_disk:
                for entry in delta.remove:
                    self._remove_unwanted(on_disk, entry)
            fixed = self._fix_directories(placer)
        finally:
            placer.close()
        written = restorer.files + len(delta.hardlinks)
        touched = frozenset(
            (*delta.files, *delta.metadata, *delta.symlinks, *self._links(), *fixed)
        )
        return Applied(written, restorer.bytes + copied_bytes, self.removed, touched)

    def _links(self) -> Iterator[int]:
        """Further names of files, and the files: a link more is a change time more."""
        for entry in self.delta.hardlinks:
            yield entry
            yield self.wanted.hardlinks[entry]

    def _open_up(self, on_disk: DirectoryHandles) -> None:
        """Directories that we may not write to get their wanted mode back at the end."""
        scanned = self.scanned
        groups = directories_written(self.delta, scanned, self.wanted)
        entries = {scanned.entry_of[group] for group in groups if group}
        finder = PathFinder(scanned)
        changed = (finder.find(self.wanted.path(entry)) for entry in self.delta.metadata)
        entries.update(e for e in changed if e is not None and _is_directory(scanned, e))
        for entry in sorted(entries):
            if scanned.mode[entry] & 0o700 != 0o700:
                self._open_one(on_disk.get(scanned.group_of(entry)), entry)

    def _open_one(self, parent: int, entry: int) -> None:
        name = self.scanned.names[entry]
        current = os.stat(name, dir_fd=parent, follow_symlinks=False)
        # One of somebody else's is left as it is: whether we may write to it was asked before.
        if stat.S_ISDIR(current.st_mode) and os.geteuid() in {0, current.st_uid}:
            self.displacing.before_change()
            os.chmod(name, stat.S_IMODE(current.st_mode) | 0o700, dir_fd=parent)
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
        finder = PathFinder(wanted)
        found = [finder.find(path) for path in paths]
        affected.update(e for e in found if e is not None)
        for entry in sorted(affected, reverse=True):
            if wanted.mode[entry] & KIND_MASK == DIRECTORY:
                placer.directory_metadata(entry)
        return affected

    def _remove(self, on_disk: DirectoryHandles, entry: int) -> bool:
        """Removes an entry of the scan and all it is known to hold, deepest first; whether all went."""
        went = [self._remove_one(on_disk, one) for one in self._doomed(entry)]
        return all(went)

    def _doomed(self, entry: int) -> Iterator[int]:
        return reversed(_with_content(self.scanned, entry))

    def _make_room(self, on_disk: DirectoryHandles, entry: int) -> None:
        """Removes what is in the way; something that came into it since it was scanned goes aside with it."""
        if not self._remove(on_disk, entry):
            directory = on_disk.get(self.scanned.group_of(entry))
            with suppress(FileNotFoundError):  # it went aside by itself
                self.displacer.set_aside(directory, self.scanned.path(entry))

    def _remove_unwanted(self, on_disk: DirectoryHandles, entry: int) -> None:
        if self._remove(on_disk, entry):
            return
        for one in self._doomed(entry):
            if self.scanned.mode[one] & KIND_MASK == DIRECTORY and self._is_there(on_disk, one):
                text = "is not in the snapshot, but holds what no snapshot has"
                self.warn("files.kept", self.scanned.path(one), text)

    def _is_there(self, on_disk: DirectoryHandles, entry: int) -> bool:
        try:
            directory = on_disk.get(self.scanned.group_of(entry))
            os.stat(self.scanned.names[entry], dir_fd=directory, follow_symlinks=False)
        except OSError:
            return False
        return True

    def _remove_one(self, on_disk: DirectoryHandles, entry: int) -> bool:
        scanned = self.scanned
        try:
            directory = on_disk.get(scanned.group_of(entry))
            if scanned.mode[entry] & KIND_MASK == DIRECTORY:
                self.displacing.before_change()
                os.rmdir(scanned.names[entry], dir_fd=directory)
            elif not self.displacer.remove(directory, scanned.path(entry)):
                return False
        except FileNotFoundError:
            return True
        except OSError:
            return False
        self.removed += 1
        return True
