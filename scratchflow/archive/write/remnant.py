"""Rewrites an archive so that only those bytes take room that snapshots still read from it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from scratchflow.archive.format.container import (
    MAX_EXPANSION,
    MAX_PACKED_BYTES,
    REMNANT_VERSION,
    Footer,
    compress_frame,
    decompress_frame,
    pack_footer,
)
from scratchflow.archive.format.remnant import dump_frames
from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.read.archive_file import open_regular, read_exactly, true_frames
from scratchflow.archive.tree.index import ArchiveFrames, Index
from scratchflow.archive.write.archive_out import Out
from scratchflow.model.errors.snapshots import SnapshotDamaged

Range = tuple[int, int]  # begin and end in the tar stream


def ranges_in(index: Index, number: int) -> list[Range]:
    """What a snapshot reads from one of its archives, in order; ranges that meet are one."""
    found: list[Range] = []
    for entry in index.regular_files():
        if index.archive[entry] == number:
            start = index.position[entry]
            found.append((start, start + index.stored_size(entry)))
        elif index.is_scattered(entry):
            parts = index.chunks[entry].parts()
            found += [(at, at + length) for one, at, length in parts if one == number]
    return merged(found)


def merged(ranges: Iterable[Range]) -> list[Range]:
    """The same bytes in ascending ranges that do not touch."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if start == end:
            continue
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def expected_bytes(frames: ArchiveFrames, live: list[Range]) -> int:
    """About how long the archive would be with these ranges alone; `frames` are those that it was written with."""
    total = 0.0
    for frame, parts in enumerate(_by_frame(frames, live)):
        raw_bytes = frames.raw_ends[frame] - frames.raw_start(frame)
        packed_bytes = frames.packed_ends[frame] - frames.packed_start(frame)
        live_bytes = sum(end - start for start, end in parts)
        total += packed_bytes * live_bytes / raw_bytes
        if parts:  # the rest of the frame is zeros, which take a little
            total += (raw_bytes - live_bytes) / MAX_EXPANSION
    return int(total)


def write_remnant(path: Path, frames: ArchiveFrames, live: list[Range], out: Out) -> str:
    """Writes the archive at `path` anew, with these ranges of its tar stream and zeros between them; returns its digest.

    SnapshotDamaged when a frame that is needed cannot be read: then it had better stay as it is.
    """
    try:
        return _Writing(path, frames, out).run(live)
    except (Malformed, OSError) as error:
        raise SnapshotDamaged(snapshot=frames.id, reason=error) from error


class _Writing:
    def __init__(self, path: Path, frames: ArchiveFrames, out: Out) -> None:
        self._path = path
        self._frames = frames
        self._out = out
        self._digest = WholeDigest()
        self._written = 0

    def run(self, live: list[Range]) -> str:
        source = open_regular(self._path)
        try:
            frames = true_frames(source, self._frames)
            left = ArchiveFrames(frames.id, frames.raw_ends[:])
            for frame, parts in enumerate(_by_frame(frames, live)):
                if parts:
                    self._put(_packed(source, frames, frame, parts))
                left.packed_ends.append(self._written)
        finally:
            os.close(source)
        offset, listed = self._written, dump_frames(left)
        self._put(listed)
        digest = hashlib.sha256(listed).digest()
        footer = Footer(offset, len(listed), digest, self._digest.text(), REMNANT_VERSION)
        self._put(pack_footer(footer))
        return self._digest.text()

    def _put(self, content: bytes | memoryview) -> None:
        self._digest.update(content)
        view = memoryview(content)
        while view:
            count = self._out.write(view)  # type: ignore[arg-type]  # any buffer will do
            view = view[len(view) if count is None else count :]
        self._written += len(content)


def _packed(
    source: int, frames: ArchiveFrames, frame: int, parts: list[Range]
) -> bytes | memoryview:
    """A frame with these parts of its content; as it is, when that is all, or no longer."""
    start, end = frames.packed_start(frame), frames.packed_ends[frame]
    packed = read_exactly(source, end - start, start)
    raw = decompress_frame(packed, frames.raw_ends[frame] - frames.raw_start(frame))
    if parts == [(0, len(raw))]:
        return packed
    kept = bytearray(len(raw))
    for first, last in parts:
        kept[first:last] = raw[first:last]
    room = memoryview(bytearray(MAX_PACKED_BYTES))
    again = room[: compress_frame(memoryview(kept), 0, room)]
    if decompress_frame(again, len(kept)) != kept:
        raise Malformed("a frame does not decompress to what was compressed")
    return again if len(again) < len(packed) else packed


def _by_frame(frames: ArchiveFrames, live: list[Range]) -> Iterator[list[Range]]:
    """For each frame the parts of it that are live, from the frame's beginning."""
    coming = iter(live)
    current = next(coming, None)
    for frame, end in enumerate(frames.raw_ends):
        start = frames.raw_start(frame)
        parts: list[Range] = []
        while current and current[0] < end:
            parts.append((max(current[0], start) - start, min(current[1], end) - start))
            if current[1] > end:
                break
            current = next(coming, None)
        yield parts
