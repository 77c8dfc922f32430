"""Opens archives: their index, single frames, and single files."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from scratchflow.archive.container import (
    FOOTER_BYTES,
    Footer,
    FrameBlocks,
    decompress_frame,
    unpack_footer,
)
from scratchflow.archive.digest import StreamDigest
from scratchflow.archive.index import Index
from scratchflow.archive.index_check import UnsafeName
from scratchflow.archive.index_codec import load_index
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.tree import KIND_MASK, REGULAR
from scratchflow.model.errors import SnapshotDamaged, UnsafeMember

OpenArchive = Callable[[str], Path]  # where the archive with this id lies

_Content = TypeVar("_Content")

_ZEROS = bytes(1 << 20)


def open_index(path: Path) -> Index:
    """The index of the archive at `path`, checked so that nothing later can be led astray by it."""
    name = path.name.removesuffix(".tar.lz4")
    try:
        with path.open("rb", buffering=0) as file:
            footer = read_footer(file.fileno())
            region = read_exactly(file.fileno(), footer.index_bytes, footer.index_offset)
        return load_index(region, footer.index_sha256)
    except UnsafeName as error:
        reason, member = error.args
        raise UnsafeMember(archive=path, member=os.fsdecode(member), reason=reason) from None
    except (Malformed, OSError) as error:
        raise SnapshotDamaged(snapshot=name, reason=error) from error


def read_footer(descriptor: int) -> Footer:
    """The footer of an open archive, or Malformed."""
    size = os.fstat(descriptor).st_size
    tail = os.pread(descriptor, FOOTER_BYTES, max(0, size - FOOTER_BYTES))
    return unpack_footer(tail, size)


def read_exactly(descriptor: int, count: int, offset: int) -> bytes:
    """So many bytes from there, or Malformed: a short read is a file cut short."""
    content = os.pread(descriptor, count, offset)
    if len(content) < count:
        parts = [content]
        while (got := sum(map(len, parts))) < count:
            part = os.pread(descriptor, count - got, offset + got)
            if not part:
                raise Malformed("it is cut short")
            parts.append(part)
        content = b"".join(parts)
    return content


class Archives:
    """The archives that an index reads from, opened as they are needed. Threads may share it."""

    def __init__(self, index: Index, open_archive: OpenArchive) -> None:
        self.index = index
        self._open_archive = open_archive
        self._descriptors: dict[int, int] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Archives:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors.clear()

    def _descriptor(self, number: int) -> int:
        with self._lock:
            if number not in self._descriptors:
                path = self._open_archive(self.index.archives[number].id)
                self._descriptors[number] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            return self._descriptors[number]

    def frame(self, number: int, frame: int) -> bytes:
        """The content of one frame, checked against its checksum."""
        return self._read(number, frame, decompress_frame)

    def blocks(self, number: int, frame: int) -> FrameBlocks:
        """One frame of which only parts are wanted; Malformed when a part turns out damaged."""
        return self._read(number, frame, FrameBlocks)

    def _read(self, number: int, frame: int, use: Callable[[bytes, int], _Content]) -> _Content:
        archive = self.index.archives[number]
        start, end = archive.packed_start(frame), archive.packed_ends[frame]
        raw_bytes = archive.raw_ends[frame] - archive.raw_start(frame)
        try:
            packed = read_exactly(self._descriptor(number), end - start, start)
            return use(packed, raw_bytes)
        except FileNotFoundError:
            reason = f"the archive `{archive.id}`, which holds a part of it, is missing"
            raise SnapshotDamaged(snapshot=self.index.id, reason=reason) from None
        except (Malformed, OSError) as error:
            raise self.damaged(number, frame, error) from error

    def damaged(self, number: int, frame: int, error: Exception) -> SnapshotDamaged:
        """The error for a frame that cannot be used."""
        reason = f"{self.index.archives[number].id}.tar.lz4, frame {frame}: {error}"
        return SnapshotDamaged(snapshot=self.index.id, reason=reason)

    def frames_of(self, entry: int) -> range:
        """The frames that hold a file's bytes."""
        stored = self.index.stored_size(entry)
        if not stored:
            return range(0)
        archive = self.index.archives[self.index.archive[entry]]
        position = self.index.position[entry]
        return range(archive.frame_at(position), archive.frame_at(position + stored - 1) + 1)

    def cut(self, entry: int, frame: int, content: bytes) -> memoryview:
        """The part of a frame's content that belongs to a file."""
        archive = self.index.archives[self.index.archive[entry]]
        start = archive.raw_start(frame)
        position = self.index.position[entry]
        end = position + self.index.stored_size(entry)
        return memoryview(content)[max(position - start, 0) : max(end - start, 0)]


def read_file(index: Index, entry: int, open_archive: OpenArchive) -> Iterator[memoryview]:
    """The content of one file in pieces, holes as zeros.

    The digest is checked after the last piece: whoever keeps the pieces must wait for the end.
    """
    if index.mode[entry] & KIND_MASK != REGULAR:
        raise ValueError("not a regular file")
    digest = StreamDigest(seed=index.seed)
    with Archives(index, open_archive) as archives:
        number = index.archive[entry]
        stored = (
            archives.cut(entry, frame, archives.frame(number, frame))
            for frame in archives.frames_of(entry)
        )
        for piece in with_holes(stored, index.sparse.get(entry), index.size[entry]):
            digest.update(piece)
            yield piece
    if digest.digest() != index.digest_of(entry):
        raise damaged_content(index, entry)


def damaged_content(index: Index, entry: int) -> SnapshotDamaged:
    """The error for a file whose content is not what was stored."""
    path = os.fsdecode(index.path(entry))
    return SnapshotDamaged(
        snapshot=index.id, reason=f"the content of `{path}` does not match its digest"
    )


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
