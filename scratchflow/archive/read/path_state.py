"""What one path was when a snapshot was taken, as its index says."""

from __future__ import annotations

from pathlib import Path

import msgspec

from scratchflow.archive.format.index_peek import IndexPeek
from scratchflow.archive.read.archive_file import read_index, require_own
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, REGULAR, SYMLINK


class PathState(msgspec.Struct, frozen=True):
    """Kind and permissions, size and time, and what its content hashes to, or where a symlink leads."""

    mode: int
    size: int
    mtime_ns: int
    digest: bytes
    seed: int
    target: bytes = b""

    @property
    def kind(self) -> int:
        """`stat`'s."""
        return self.mode & KIND_MASK


def read_state(archive: Path, path: bytes) -> PathState | None:
    """The path as the index of an archive has it; None when it has not. SnapshotDamaged when it cannot be read."""
    index = read_index(archive, IndexPeek)
    require_own(archive, index.id)
    return _state(index, path)


def _state(index: IndexPeek, path: bytes) -> PathState | None:
    entry = index.find(path)
    if entry is None:
        return None
    # Another name of a file has the content of the first.
    held = index.hardlinks.get(entry, entry)
    mode = index.mode(entry)
    kind = mode & KIND_MASK
    return PathState(
        mode=mode,
        size=index.size(held),
        mtime_ns=index.mtime_ns(held),
        digest=index.digest(held) if kind == REGULAR else b"",
        seed=index.seed,
        target=index.target(entry) if kind == SYMLINK else b"",
    )


def has_same_content(one: PathState, other: PathState) -> bool:
    """Whether both are of one kind, with the same bytes or target; permissions may differ.

    As in `compare/diff.py`: between snapshots that do not share a history by size and time.
    """
    if one.kind != other.kind:
        return False
    if one.kind == DIRECTORY:
        return True
    if one.kind != REGULAR:
        return one.target == other.target
    if one.size != other.size:
        return False
    if one.seed == other.seed:
        return one.digest == other.digest
    return one.mtime_ns == other.mtime_ns
