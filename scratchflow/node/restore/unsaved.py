"""What the workspace has newer than a snapshot, of some paths: a look at names, sizes and times, at no content."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.read.selection import Selection, is_pattern
from scratchflow.archive.scan.part import clamped_ns
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, REGULAR, Tree
from scratchflow.model.requests import Newer
from scratchflow.model.results.transfer import NewerFound
from scratchflow.model.text import counted, printable
from scratchflow.node.context import NodeContext
from scratchflow.node.progress import Notifier
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import find_place
from scratchflow.store.names import find_snapshot

NEWER = "restore.newer_in_workspace"
"""The code of the warning."""
_SHOWN = 3
# A look that takes longer than the restore helps nobody.
_MOST_FILES = 100_000


def find_newer(context: NodeContext, _: Notifier, asked: Newer) -> NewerFound:
    """Compares the paths in the workspace with the snapshot's."""
    place = find_place(context.store, context.workspace.name)
    manifest = find_snapshot(read_catalogue(place), asked.snapshot)
    return newer_than(context, open_index(place.archive(manifest.id)), asked.paths)


def newer_than(context: NodeContext, index: Index, paths: tuple[str, ...]) -> NewerFound:
    """Which chosen files have another size or time now, which were made since, which paths are all new.

    No paths mean everything.
    """
    select = _chosen(context, index, paths or context.workspace.roots)
    missing = select.unmatched if paths else []
    changed = [] if missing else _changed(context.workspace.scratch, index, select)
    added = [] if missing else _added(context, index, paths)
    there = [path for path in missing if is_in_workspace(context, path)]
    return NewerFound(
        snapshot=index.id,
        host=context.node,
        changed=len(changed),
        changed_paths=_first_of(context, changed),
        added=len(added),
        added_paths=_first_of(context, added),
        unsaved=there,
        kept_out=[path for path in there if is_kept_out(context, path)],
        unreadable=sum(
            not _is_readable(context.workspace.scratch / os.fsdecode(one)) for one in changed
        ),
    )


def _chosen(context: NodeContext, tree: Tree, paths: Sequence[str]) -> Selection:
    scratch = f"{context.workspace.scratch}/"
    shorter = [path.removeprefix(scratch) for path in paths]
    return Selection(tree, shorter, within=context.workspace.name)


def _first_of(context: NodeContext, paths: list[bytes]) -> list[str]:
    return [printable(_relative(path, context.workspace.name)) for path in paths[:_SHOWN]]


def is_in_workspace(context: NodeContext, path: str) -> bool:
    """Whether there is such a path now, from the workspace or from scratch down."""
    top = os.fsencode(context.workspace.scratch)
    return any(
        os.path.lexists(place)
        and not _is_behind_link(top, os.path.relpath(os.fsencode(place), top))
        for place in _places_of(context, path)
    )


def is_kept_out(context: NodeContext, path: str) -> bool:
    """Whether a backup would leave such a path out: it is excluded, cannot be read, or is of a kind that is not saved."""
    if not all(_is_readable(place) for place in _places_of(context, path)):
        return True
    from scratchflow.node.snapshot.plan import begin_scan  # most paths are in the snapshot

    try:
        with begin_scan(context, None) as scan:
            now = scan.finish(lambda *_: None)
    except OSError:
        return False
    return bool(_chosen(context, now, [path]).unmatched)


def _is_readable(place: Path) -> bool:
    """Unless a look says that it is not: what is gone is not, nor what a symlink leads to."""
    return os.path.islink(place) or not os.path.exists(place) or os.access(place, os.R_OK)


def _places_of(context: NodeContext, path: str) -> list[Path]:
    """Where a path that somebody typed may lie on this machine; nowhere for one that leads out."""
    scratch = context.workspace.scratch
    relative = path.removeprefix(f"{scratch}/").strip("/")
    if not relative or ".." in relative.split("/"):
        return []
    places = [scratch / context.workspace.name / relative]
    if relative.split("/")[0] in context.workspace.roots:
        places.append(scratch / relative)
    return places


def words_of(found: NewerFound) -> list[str]:
    """What to say of it, in one sentence for each kind; nothing when nothing is newer."""
    words = []
    if found.changed:
        words.append(
            f"{_counted(found.changed, found.changed_paths)} changed on `{found.host}` since snapshot"
            f" {found.snapshot}: these are the older versions; {_way_to_newer(found)}"
        )
    if found.added:
        is_one = found.added == 1
        words.append(
            f"{_counted(found.added, found.added_paths)} {'is' if is_one else 'are'} on `{found.host}`"
            f" and not in snapshot {found.snapshot}: `scratchflow backup` saves"
            f" {'it' if is_one else 'them'}, then run this command again"
        )
    return words


def _way_to_newer(found: NewerFound) -> str:
    again = "`scratchflow backup` saves the newer ones, then run this command again"
    if not found.unreadable:
        return again
    are = "it cannot" if found.changed == 1 else f"{found.unreadable} of them cannot"
    return f"{are} be read there, and no backup saves that: make it readable, {again}"


def _counted(count: int, paths: list[str]) -> str:
    names = ", ".join(f"`{path}`" for path in paths)
    return f"{counted(count, 'file')} ({names}{', …' if count > len(paths) else ''})"


def _added(context: NodeContext, index: Index, paths: Sequence[str]) -> list[bytes]:
    """The files that a backup would save now and the snapshot has not: what is excluded or cannot be read is not among them."""
    if paths and not any(_may_hold_more(context, path) for path in paths):
        return []
    from scratchflow.node.snapshot.plan import begin_scan  # a single file needs no scan

    try:
        with begin_scan(context, None) as scan:
            now = scan.finish(lambda *_: None, index)
    except OSError:  # no scratch here, or none that may be read: the restore does without
        return []
    chosen = _chosen(context, now, paths or context.workspace.roots).entries
    found = []
    for group, prefix in now.groups():
        first, end = now.first[group], now.first[group + 1]
        if chosen.find(1, first, end) < 0:
            continue
        known = _names_in(index, prefix)
        for entry, name in enumerate(now.names.slice(first, end), first):
            is_file = now.mode[entry] & KIND_MASK != DIRECTORY
            is_new = is_file and chosen[entry] and name not in known
            if is_new and _is_readable(context.workspace.scratch / os.fsdecode(prefix + name)):
                found.append(prefix + name)
    return found


def _may_hold_more(context: NodeContext, path: str) -> bool:
    """Whether the path stands for more than one file: a directory or a pattern."""
    return is_pattern(path) or any(map(os.path.isdir, _places_of(context, path)))


def _names_in(index: Index, prefix: bytes) -> frozenset[bytes]:
    """What the snapshot has in a directory, which is given as a prefix of paths."""
    group = 0
    if prefix:
        entry = index.find(prefix[:-1])
        if entry is None or index.mode[entry] & KIND_MASK != DIRECTORY:
            return frozenset()
        group = index.group_at(entry)
    return frozenset(index.names.slice(index.first[group], index.first[group + 1]))


def _changed(scratch: Path, index: Index, select: Selection) -> list[bytes]:
    found = []
    for entry in index.of_kind(REGULAR, select.entries)[:_MOST_FILES]:
        path = index.path(entry)
        top = os.fsencode(scratch)
        differs = _differs(os.path.join(top, path), index, entry)
        if differs and not _is_behind_link(top, path):
            found.append(path)
    return found


def _differs(path: bytes, index: Index, entry: int) -> bool:
    """Not for a file that is gone: what the snapshot has is the newest of it."""
    try:
        now = os.lstat(path)
    except OSError:
        return False
    mtime_ns = clamped_ns(now.st_mtime_ns)
    is_same = now.st_size == index.size[entry] and mtime_ns == index.mtime_ns[entry]
    return not stat.S_ISREG(now.st_mode) or not is_same


def _is_behind_link(scratch: bytes, path: bytes) -> bool:
    """Whether a directory above it is a symlink now: what is there belongs to another place, and no backup saves it."""
    directory = os.path.dirname(path)
    there = os.path.realpath(os.path.join(scratch, directory))
    return there != os.path.normpath(os.path.join(os.path.realpath(scratch), directory))


def _relative(path: bytes, workspace: str) -> str:
    return os.fsdecode(path).removeprefix(f"{workspace}/")
