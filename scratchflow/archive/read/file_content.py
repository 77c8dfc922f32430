"""The content of a file as its reader sees it: stored pieces at their places, holes as zeros."""

from __future__ import annotations

import os
from collections.abc import Iterator

from scratchflow.archive.tree.index import Index
from scratchflow.model.errors.snapshots import SnapshotDamaged

_ZEROS = bytes(1 << 20)


def with_holes(
    stored: Iterator[memoryview], extents: list[int] | None, size: int
) -> Iterator[memoryview]:
    """The pieces of a file as a reader of the file sees them: holes are zeros."""
    if extents is None:
        yield from stored
        return
    at = 0
    for offset, piece in placed(stored, extents):
        yield from zero_pieces(offset - at)
        yield piece
        at = offset + len(piece)
    yield from zero_pieces(size - at)


def placed(stored: Iterator[memoryview], extents: list[int]) -> Iterator[tuple[int, memoryview]]:
    """The stored pieces of a sparse file with the offset where each belongs."""
    targets = [pair for pair in zip(extents[::2], extents[1::2], strict=True) if pair[1]][::-1]
    for whole in stored:
        piece = whole
        while piece and targets:
            offset, length = targets.pop()
            yield offset, piece[:length]
            if length > len(piece):
                targets.append((offset + len(piece), length - len(piece)))
            piece = piece[length:]


def zero_pieces(count: int) -> Iterator[memoryview]:
    """So many zeros, in pieces."""
    view = memoryview(_ZEROS)
    while count > 0:
        yield view[:count]
        count -= len(view)


def damaged_content(index: Index, entry: int) -> SnapshotDamaged:
    """The error for a file whose content is not what was stored."""
    path = os.fsdecode(index.path(entry))
    held_by = {archive for archive, _, _ in index.place(entry)}
    return SnapshotDamaged(
        snapshot=index.id,
        reason=f"the content of `{path}` does not match its digest",
        archive=held_by.pop() if len(held_by) == 1 else "",
    )
