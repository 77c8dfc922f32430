"""A large file made from an older version of it that lies on disk, and the chunks that it lacks."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator

import msgspec

from scratchflow.archive.read.spans import read_range
from scratchflow.archive.tree.chunks import Chunks, OlderFile, Part
from scratchflow.archive.tree.index import DIGEST_BYTES

_FICLONE = 0x40049409
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class Stretch(msgspec.Struct):
    """Some bytes of the wanted file: where the older one has them, or else where archives do."""

    offset: int
    length: int
    older: int = -1  # the offset in the older file; -1: it does not have them
    parts: list[Part] = msgspec.field(default_factory=list)


def stretches(wanted: Chunks, older: Chunks) -> list[Stretch]:
    """The wanted file from its beginning to its end; chunks that follow each other on both sides are one."""
    at_place, anywhere = _places(older)
    found: list[Stretch] = []
    offset = 0
    digests = wanted.each_digest(DIGEST_BYTES)
    for part, digest in zip(wanted.each(), digests, strict=True):
        length = part[2]
        key = digest, length
        start = offset if at_place.get(offset) == key else anywhere.get(key, -1)
        last = found[-1] if found else None
        if last and start < 0 and last.older < 0:
            last.parts.append(part)
            last.length += length
        elif last and start >= 0 and last.older >= 0 and last.older + last.length == start:
            last.length += length
        else:
            found.append(Stretch(offset, length, start, [part] if start < 0 else []))
        offset += length
    return found


def _places(
    chunks: Chunks,
) -> tuple[dict[int, tuple[bytes, int]], dict[tuple[bytes, int], int]]:
    """The chunk that begins at each offset of a file, and the first offset of each chunk."""
    at_place = {}
    anywhere: dict[tuple[bytes, int], int] = {}
    offset = 0
    for digest, length in zip(chunks.each_digest(DIGEST_BYTES), chunks.lengths, strict=True):
        at_place[offset] = digest, length
        anywhere.setdefault((digest, length), offset)
        offset += length
    return at_place, anywhere


def is_worthwhile(found: list[Stretch]) -> bool:
    """Whether most of the bytes need not be read from archives."""
    there = sum(one.length for one in found if one.older >= 0)
    return 2 * there >= sum(one.length for one in found)


def open_older(name: bytes, directory: int, expected: OlderFile) -> int | None:
    """The older file, if it is still the one that was scanned and may be read."""
    try:
        descriptor = os.open(name, _OPEN_FILE, dir_fd=directory)
    except OSError:
        return None
    stats = os.fstat(descriptor)
    if (stats.st_ino, stats.st_ctime_ns) == (expected.inode, expected.ctime_ns):
        return descriptor
    os.close(descriptor)
    return None


class Patch:
    """What has to be written into a new file so that it is the wanted one, whose digest tells."""

    def __init__(self, older: int, found: list[Stretch], missing: Iterator[memoryview]) -> None:
        """`missing` is what the older file lacks, in pieces that do not reach into the next stretch."""
        self._older = older
        self._stretches = found
        self._missing = missing
        self.size = sum(one.length for one in found)

    def apply(self, target: int) -> Iterator[memoryview]:
        """Fills an empty file that is open for reading and writing; yields its content, for the digest.

        A file system that can share blocks shares them with the older file. Those are read from the new file:
        somebody may write into the older one at any time.
        """
        is_shared = _share_blocks(target, self._older)
        os.ftruncate(target, self.size)
        for one in self._stretches:
            if is_shared and one.older == one.offset:
                yield from read_range(target, one.offset, one.length)
            else:
                offset = one.offset
                for piece in self._content(one):
                    _pwrite_all(target, piece, offset)
                    offset += len(piece)
                    yield piece

    def _content(self, one: Stretch) -> Iterator[memoryview]:
        if one.older >= 0:
            yield from read_range(self._older, one.older, one.length)
            return
        left = one.length
        while left:
            piece = next(self._missing)
            yield piece
            left -= len(piece)


def _share_blocks(target: int, source: int) -> bool:
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError:  # hardly any file system can
        return False
    return True


def _pwrite_all(descriptor: int, content: memoryview, offset: int) -> None:
    while content:
        count = os.pwrite(descriptor, content, offset)
        content, offset = content[count:], offset + count
