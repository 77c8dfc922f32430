"""Keeps a delta away from mount points: nothing at or beneath one is written, changed or removed."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

from scratchflow.archive.compare.delta import Delta
from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, Tree


def mount_in_the_way(
    delta: Delta, scanned: ScannedTree, wanted: Index, mounts: Iterable[bytes]
) -> bytes | None:
    """The first mount point that the delta cannot do without crossing; paths from scratch down."""
    for mount in mounts:
        if next(_written_beneath(delta, wanted, mount), None) is not None:
            return mount
        if any(_is_at_or_above(scanned.path(entry), mount) for entry in delta.clear):
            return mount
    return None


def spare_mounts(delta: Delta, scanned: ScannedTree, wanted: Index, mounts: list[bytes]) -> None:
    """Takes mount points, and the directories above them, out of what is to be removed or changed."""
    if not mounts:
        return
    points = set(mounts)
    kept = [entry for entry in delta.metadata if wanted.path(entry) not in points]
    delta.metadata = array("I", kept)
    waiting, spared = list(delta.remove), array("I")
    while waiting:
        entry = waiting.pop()
        path = scanned.path(entry)
        if path in points or any(_is_beneath(path, mount) for mount in mounts):
            continue
        if not any(_is_beneath(mount, path) for mount in mounts):
            spared.append(entry)
        elif scanned.mode[entry] & KIND_MASK == DIRECTORY:
            group = scanned.group_at(entry)
            waiting.extend(range(scanned.first[group], scanned.first[group + 1]))
    delta.remove = spared


def kept_mounts(delta: Delta, scanned: ScannedTree, mounts: list[bytes]) -> list[bytes]:
    """The mount points at or beneath something that is to be removed."""
    doomed = [scanned.path(entry) for entry in delta.remove] if mounts else []
    return [mount for mount in mounts if any(_is_at_or_above(path, mount) for path in doomed)]


def chosen_beneath(tree: Tree, chosen: bytearray, mounts: Iterable[bytes]) -> bytes | None:
    """The first mount point beneath which something was chosen, or that is chosen as a file."""
    for mount in mounts:
        entry = tree.find(mount)
        if entry is None or not chosen[entry]:
            continue
        if tree.mode[entry] & KIND_MASK != DIRECTORY:
            return mount
        group = tree.group_at(entry)
        if any(chosen[tree.first[group] : tree.first[group + 1]]):
            return mount
    return None


def _written_beneath(delta: Delta, wanted: Index, mount: bytes) -> Iterator[int]:
    parts = (delta.files, delta.metadata, delta.directories, delta.symlinks, delta.hardlinks)
    return (entry for part in parts for entry in part if _is_beneath(wanted.path(entry), mount))


def _is_beneath(path: bytes, above: bytes) -> bool:
    return path.startswith(above + b"/")


def _is_at_or_above(path: bytes, below: bytes) -> bool:
    return path == below or _is_beneath(below, path)
