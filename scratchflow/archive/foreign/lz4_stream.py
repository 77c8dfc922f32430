"""Decompresses any `.lz4` file as a stream: all frame options, skippable and legacy frames."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import BinaryIO

from lz4 import block as lz4_block
from lz4 import frame as lz4_frame

from scratchflow.archive.format.container import DATA_MAGIC, SKIPPABLE_MAGICS
from scratchflow.archive.malformed import Malformed

_LEGACY_MAGIC = b"\x02\x21\x4c\x18"
_LEGACY_BLOCK_BYTES = 8 << 20
_READ_BYTES = 1 << 20
_PIECE_BYTES = 4 << 20
_CONTENT_CHECKSUM = 0x04  # in the byte after the magic


def decompressed(file: BinaryIO, unchecked: Callable[[], None]) -> Iterator[bytes]:
    """The content in pieces of bounded size; Malformed says why the file is not LZ4.

    `unchecked` is called for every frame without a checksum of its content.
    """
    source = _Source(file)
    seen = False
    while magic := source.peek(4):
        if magic == DATA_MAGIC:
            if not source.peek(5)[4:5] or not source.peek(5)[4] & _CONTENT_CHECKSUM:
                unchecked()
            yield from _frame(source)
        elif magic == _LEGACY_MAGIC:
            unchecked()
            yield from _legacy_frame(source)
        elif len(magic) == 4 and int.from_bytes(magic, "little") in SKIPPABLE_MAGICS:
            _skip(source)
        else:
            raise Malformed("it is no LZ4 file, or something follows its last frame")
        seen = True
    if not seen:
        raise Malformed("it is empty")


class _Source:
    """The file with a few bytes of looking ahead."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._ahead = b""

    def peek(self, count: int) -> bytes:
        while len(self._ahead) < count and (more := self._file.read(_READ_BYTES)):
            self._ahead += more
        return self._ahead[:count]

    def take(self, count: int) -> bytes:
        if len(self.peek(count)) < count:
            raise Malformed("it is cut short")
        taken, self._ahead = self._ahead[:count], self._ahead[count:]
        return taken

    def take_some(self) -> bytes:
        taken = self._ahead or self._file.read(_READ_BYTES)
        self._ahead = b""
        return taken

    def give_back(self, content: bytes) -> None:
        self._ahead = content + self._ahead


def _frame(source: _Source) -> Iterator[bytes]:
    decompressor = lz4_frame.LZ4FrameDecompressor()
    try:
        while not decompressor.eof:
            packed = source.take_some() if decompressor.needs_input else b""
            if decompressor.needs_input and not packed:
                raise Malformed("it is cut short")
            yield decompressor.decompress(packed, max_length=_PIECE_BYTES)
    except (RuntimeError, EOFError, MemoryError) as error:
        raise Malformed(f"a frame cannot be decompressed: {error}") from None
    source.give_back(decompressor.unused_data or b"")


def _legacy_frame(source: _Source) -> Iterator[bytes]:
    """Blocks of up to 8 MiB with nothing but their length, until the file or another frame."""
    source.take(4)
    while len(raw := source.peek(4)) == 4:
        size = struct.unpack("<I", raw)[0]
        if raw in {DATA_MAGIC, _LEGACY_MAGIC} or size in SKIPPABLE_MAGICS:
            return
        if not 0 < size <= _LEGACY_BLOCK_BYTES + _LEGACY_BLOCK_BYTES // 255 + 16:
            raise Malformed("a block has an impossible length")
        source.take(4)
        try:
            yield bytes(
                lz4_block.decompress(source.take(size), uncompressed_size=_LEGACY_BLOCK_BYTES)
            )
        except lz4_block.LZ4BlockError as error:
            raise Malformed(f"a block cannot be decompressed: {error}") from None


def _skip(source: _Source) -> None:
    size = struct.unpack("<4xI", source.take(8))[0]
    while size:
        size -= len(source.take(min(size, _READ_BYTES)))
