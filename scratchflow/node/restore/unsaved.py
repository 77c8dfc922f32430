"""What the workspace has newer than a snapshot, of a few paths: a look at their sizes and times, at no content."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from scratchflow.archive.read.reader import open_index
from scratchflow.archive.read.selection import Selection
from scratchflow.archive.tree.index import Index
from scratchflow.model.requests import Newer
from scratchflow.model.results import NewerFound
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
    """Which chosen files have another size or time now, and which paths are only in the workspace."""
    scratch = context.workspace.scratch
    shorter = [path.removeprefix(f"{scratch}/") for path in paths]
    select = Selection(index, shorter, within=context.workspace.name)
    changed = [] if select.unmatched else _changed(scratch, index, select)
    unsaved = [path for path in select.unmatched if is_in_workspace(context, path)]
    shown = [printable(_relative(path, context.workspace.name)) for path in changed[:_SHOWN]]
    return NewerFound(
        snapshot=index.id,
        host=context.node,
        changed=len(changed),
        changed_paths=shown,
        unsaved=unsaved,
    )


def is_in_workspace(context: NodeContext, path: str) -> bool:
    """Whether there is such a path now, from the workspace or from scratch down."""
    scratch = context.workspace.scratch
    relative = path.removeprefix(f"{scratch}/").strip("/")
    if not relative or ".." in relative.split("/"):
        return False
    places = [scratch / context.workspace.name / relative]
    if relative.split("/")[0] in context.workspace.roots:
        places.append(scratch / relative)
    return any(map(os.path.lexists, places))


def words_of(found: NewerFound) -> str:
    """What to say of it; empty when nothing is newer."""
    if not found.changed:
        return ""
    names = ", ".join(f"`{path}`" for path in found.changed_paths)
    more = ", …" if found.changed > len(found.changed_paths) else ""
    count = f"{counted(found.changed, 'file')} ({names}{more})"
    return (
        f"{count} changed on `{found.host}` since snapshot {found.snapshot}: these are the older versions;"
        " `scratchflow backup` saves the newer ones, then run this command again"
    )


def _changed(scratch: Path, index: Index, select: Selection) -> list[bytes]:
    chosen = (entry for entry in index.regular_files() if select.entries[entry])
    found = []
    for number, entry in enumerate(chosen):
        if number >= _MOST_FILES:
            break
        path = index.path(entry)
        if _differs(os.path.join(os.fsencode(scratch), path), index, entry):
            found.append(path)
    return found


def _differs(path: bytes, index: Index, entry: int) -> bool:
    """Not for a file that is gone: what the snapshot has is the newest of it."""
    try:
        now = os.lstat(path)
    except OSError:
        return False
    is_same = now.st_size == index.size[entry] and now.st_mtime_ns == index.mtime_ns[entry]
    return not stat.S_ISREG(now.st_mode) or not is_same


def _relative(path: bytes, workspace: str) -> str:
    return os.fsdecode(path).removeprefix(f"{workspace}/")
