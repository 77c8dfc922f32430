"""The bytes around the tar stream: LZ4 data frames, skippable frames and the footer."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator

import msgspec
import xxhash
from lz4 import block as lz4_block

from scratchflow.archive.format.lz4_blocks import pack_block, unpack_block, unpacked
from scratchflow.archive.format.whole_digest import SHA256, XXH3, pack_digest, unpack_digest
from scratchflow.archive.malformed import Malformed, NewerFormat
from scratchflow.model.snapshot import NEWEST_FORMAT

DATA_MAGIC = b"\x04\x22\x4d\x18"
SKIPPABLE_MAGICS = range(0x184D2A50, 0x184D2A60)
INDEX_MAGIC = 0x184D2A53
FOOTER_MAGIC = 0x184D2A5F
FOOTER_WORD = b"SCRFLOW1"
# An archive that scratchflow writes. Earlier ones were 1, or 2 where the bytes of a file lie in several places.
FORMAT_VERSION = 4
# Only what other snapshots need is left of it, and a list of its frames instead of an index. Earlier ones were 3.
REMNANT_VERSION = NEWEST_FORMAT
_REMNANT_VERSIONS = {3, REMNANT_VERSION}
# They are compared with a SHA-256.
_EARLIER_VERSIONS = {1, 2, 3}

_SKIPPABLE = struct.Struct("<II")
# word, version, index offset, index length, sha256 of the index, digest of all bytes before
_FOOTER = struct.Struct("<8sIQQ32s32s")
_DIGEST_BYTES = 32
_CHECK = struct.Struct("<I")
FOOTER_BYTES = _SKIPPABLE.size + _FOOTER.size + _CHECK.size

# FLG: version 1, independent blocks, content size and content checksum. BD: blocks up to 256 KiB.
_DATA_START = DATA_MAGIC + b"\x6c\x50"
_UNCOMPRESSED = 1 << 31  # in a block's size: the block is stored as it is
MAX_FRAME_BYTES = 4 << 20
BLOCK_BYTES = 256 << 10
_DATA_HEADER = struct.Struct("<6sQB")  # start, content size, header checksum
_BLOCK_SIZE = struct.Struct("<I")
_DATA_TRAILER = struct.Struct("<II")  # end mark, content checksum
# As long as a frame can become: its content as it is.
MAX_PACKED_BYTES = (
    _DATA_HEADER.size
    + MAX_FRAME_BYTES
    + MAX_FRAME_BYTES // BLOCK_BYTES * _BLOCK_SIZE.size
    + _DATA_TRAILER.size
)
_FIRST_HIGH_LEVEL = 3  # below it `lz4` compresses fast, whatever the level
# After a block that became no smaller than this, LZ4 looks at half as many places in the next one:
# of programs, libraries and sources that is a 25th of the time for a hundredth more bytes.
_HARDLY_SMALLER = 0.6
# What is to become as small as possible takes five times as long, and becomes a sixth smaller: of programs and
# libraries. A block that becomes hardly smaller is not tried twice: of numbers and packed data nothing is gained.
_SMALLEST_LEVEL = 3
_WORTH_ANOTHER_TRY = 0.8
# An LZ4 block expands to at most 255 times its size: a claim beyond that is a lie.
MAX_EXPANSION = 255


class Footer(msgspec.Struct, frozen=True):
    """Where the index lies, and what everything must hash to."""

    index_offset: int
    index_bytes: int
    index_sha256: bytes
    content_digest: str
    """Of all that is before the footer."""
    version: int = FORMAT_VERSION

    @property
    def is_remnant(self) -> bool:
        """Whether only what other snapshots need is left of the archive."""
        return self.version in _REMNANT_VERSIONS


def compress_frame(raw: memoryview, level: int, out: memoryview, *, smallest: bool = False) -> int:
    """One independent data frame, written to the start of `out`; returns its length.

    `smallest` takes time for fewer bytes, whatever the level.

    The checksum is made here because the library takes twice as long for it, and of all blocks at once because
    block after block takes almost three times as long.
    """
    _DATA_HEADER.pack_into(out, 0, _DATA_START, len(raw), _header_check(len(raw)))
    position = _DATA_HEADER.size
    acceleration = 1
    for start in range(0, len(raw), BLOCK_BYTES):
        block = raw[start : start + BLOCK_BYTES]
        room = out[position + _BLOCK_SIZE.size :]
        if level >= _FIRST_HIGH_LEVEL:
            count = _put_smaller(block, level, room, len(block))
        else:
            count = pack_block(block, room, acceleration) or len(block)
            acceleration = 2 if count > len(block) * _HARDLY_SMALLER else 1
            if smallest and count < len(block) * _WORTH_ANOTHER_TRY:
                count = _put_smaller(block, _SMALLEST_LEVEL, room, count)
        size_field = count
        if count == len(block):
            room[:count] = block
            size_field |= _UNCOMPRESSED
        _BLOCK_SIZE.pack_into(out, position, size_field)
        position += _BLOCK_SIZE.size + count
    _DATA_TRAILER.pack_into(out, position, 0, xxhash.xxh32_intdigest(raw))
    return position + _DATA_TRAILER.size


def _put_smaller(block: memoryview, level: int, room: memoryview, than: int) -> int:
    """Takes time to pack a block, puts it into the room if it becomes smaller than this, and says how long it is then."""
    packed = lz4_block.compress(block, mode="high_compression", compression=level, store_size=False)
    if len(packed) >= than:
        return than
    room[: len(packed)] = packed
    return len(packed)


def decompress_frame(packed: bytes | memoryview, raw_bytes: int) -> bytes:
    """The content of one data frame, checked; Malformed says what is wrong with it."""
    return b"".join(frame_blocks(packed, raw_bytes))


def frame_blocks(packed: bytes | memoryview, raw_bytes: int) -> list[memoryview]:
    """The same block by block, without a copy: a block that was stored as it is lies in `packed`."""
    blocks, checksum = FrameBlocks(part_of(packed), len(packed), raw_bytes).all()
    found = xxhash.xxh32()
    for block in blocks:
        found.update(block)
    if checksum != found.intdigest():
        raise Malformed("a frame's content does not match its checksum")
    return blocks


def part_of(packed: bytes | memoryview) -> ReadPart:
    """Reads parts of what is in memory already."""
    view = memoryview(packed)
    return lambda offset, count: view[offset : offset + count]


ReadPart = Callable[[int, int], "bytes | memoryview"]  # (offset in the frame, how many bytes)
GetRoom = Callable[[int], memoryview]  # memory for so many bytes


class FrameBlocks:
    """A data frame whose blocks are read and decompressed when they are needed.

    Nothing is checked against the frame's checksum, which only the whole frame has: whoever
    takes a part knows a digest for it.
    """

    def __init__(
        self, read: ReadPart, packed_bytes: int, raw_bytes: int, get_room: GetRoom | None = None
    ) -> None:
        """With `get_room`, blocks are put into a room for all of them, each at its place; else into memory of their own."""
        self._read = read
        self._end = packed_bytes - _DATA_TRAILER.size  # of the last block
        self.raw_bytes = raw_bytes
        self._get_room = get_room
        self._room: memoryview | None = None
        self._count = -(-raw_bytes // BLOCK_BYTES)
        self._places: list[tuple[int, int]] = []  # where a block begins, and its size field
        self._next = _DATA_HEADER.size  # where the first block begins that is not in `_places`
        self._blocks: dict[int, memoryview] = {}
        if self._end <= self._next or not 0 < raw_bytes <= MAX_FRAME_BYTES:
            raise Malformed("a frame has an impossible length")
        start, claimed, check = _DATA_HEADER.unpack(self._exactly(0, _DATA_HEADER.size))
        if start != _DATA_START or check != _header_check(claimed):
            raise Malformed("a frame does not begin as one, or lacks its checksum")
        if claimed != raw_bytes:
            raise Malformed("a frame is not as long as the index says")

    def part(self, start: int, length: int) -> memoryview:
        """A part of the content."""
        first, last = start // BLOCK_BYTES, (start + length - 1) // BLOCK_BYTES
        offset = start - first * BLOCK_BYTES
        if first == last:
            return self._block(first)[offset : offset + length]
        content = b"".join([self._block(number) for number in range(first, last + 1)])
        return memoryview(content)[offset : offset + length]

    def pieces(self, start: int, length: int) -> Iterator[memoryview]:
        """The same part block by block; none is kept, so that the next one finds its memory free."""
        end = start + length
        for number in _block_numbers(start, length):
            begins = number * BLOCK_BYTES
            block = self._blocks.get(number) or self._read_block(number)
            yield block[max(start - begins, 0) : end - begins]

    def fetch(self, start: int, length: int) -> None:
        """Decompresses the blocks of a part and keeps them, for `part` and `pieces`."""
        for number in _block_numbers(start, length):
            self._block(number)

    def all(self) -> tuple[list[memoryview], int]:
        """All blocks, and the checksum that they must have together."""
        blocks = [self._read_block(number) for number in range(self._count)]
        return blocks, self._checksum()

    def one_by_one(self, room: memoryview) -> Iterator[memoryview]:
        """All blocks, each of which may lie in the room until the next one is asked for."""
        for number in range(self._count):
            yield self._read_block(number, room)
        self._checksum()

    def _checksum(self) -> int:
        """What follows the last block; Malformed when the frame does not end there."""
        trailer = self._exactly(self._end, _DATA_TRAILER.size)
        end_mark, checksum = _DATA_TRAILER.unpack(trailer)
        if self._next != self._end or end_mark:
            raise Malformed("a frame is not as long as the index says")
        return int(checksum)

    def _exactly(self, offset: int, count: int) -> bytes | memoryview:
        content = self._read(offset, count)
        if len(content) != count:
            raise Malformed("it is cut short")
        return content

    def _place(self, number: int) -> tuple[int, int]:
        while len(self._places) <= number:
            start = self._next + _BLOCK_SIZE.size
            if start > self._end:
                raise Malformed("a frame is not as long as the index says")
            size = _BLOCK_SIZE.unpack(self._exactly(self._next, _BLOCK_SIZE.size))[0]
            self._next = start + (size & ~_UNCOMPRESSED)
            if self._next > self._end:
                raise Malformed("a frame is not as long as the index says")
            self._places.append((start, size))
        return self._places[number]

    def _block(self, number: int) -> memoryview:
        if number not in self._blocks:
            self._blocks[number] = self._read_block(number)
        return self._blocks[number]

    def _read_block(self, number: int, room: memoryview | None = None) -> memoryview:
        start, size = self._place(number)
        block = self._exactly(start, size & ~_UNCOMPRESSED)
        begins = number * BLOCK_BYTES
        raw_bytes = min(BLOCK_BYTES, self.raw_bytes - begins)
        if size & _UNCOMPRESSED:
            content = memoryview(block)
        elif room := room or self._room_at(begins):
            content = room[:raw_bytes]
            unpack_block(block, content)
        else:
            content = memoryview(unpacked(block, raw_bytes))
        if len(content) != raw_bytes:
            raise Malformed("a block is not as long as it should be")
        return content

    def _room_at(self, begins: int) -> memoryview | None:
        """What follows a place in the room. A frame whose blocks are all stored as they are needs none."""
        if self._room is None and self._get_room:
            self._room = self._get_room(self.raw_bytes)
        return self._room[begins:] if self._room else None


def _block_numbers(start: int, length: int) -> range:
    return range(start // BLOCK_BYTES, -(-(start + length) // BLOCK_BYTES))


def _header_check(raw_bytes: int) -> int:
    descriptor = _DATA_START[4:] + raw_bytes.to_bytes(8, "little")
    return xxhash.xxh32_intdigest(descriptor) >> 8 & 0xFF


def skippable_frame(magic: int, content: bytes) -> bytes:
    """A frame that plain `lz4` passes over."""
    return _SKIPPABLE.pack(magic, len(content)) + content


def split_skippable(region: memoryview, magic: int) -> list[memoryview]:
    """The contents of the skippable frames that fill a region exactly, or Malformed."""
    contents = []
    position = 0
    while position < len(region):
        if position + _SKIPPABLE.size > len(region):
            raise Malformed("the index is cut short")
        found, length = _SKIPPABLE.unpack_from(region, position)
        position += _SKIPPABLE.size
        if found != magic or position + length > len(region):
            raise Malformed("the index is not a sequence of skippable frames")
        contents.append(region[position : position + length])
        position += length
    return contents


def pack_footer(footer: Footer) -> bytes:
    """The last frame of an archive; its size is fixed, so it is found from the end."""
    body = _FOOTER.pack(
        FOOTER_WORD,
        footer.version,
        footer.index_offset,
        footer.index_bytes,
        footer.index_sha256,
        pack_digest(footer.content_digest, _DIGEST_BYTES),
    )
    return skippable_frame(FOOTER_MAGIC, body + _CHECK.pack(zlib.crc32(body)))


def unpack_footer(tail: bytes, archive_bytes: int) -> Footer:
    """Reads the last FOOTER_BYTES of an archive, or Malformed that says why not."""
    if len(tail) != FOOTER_BYTES:
        raise Malformed("it is too short to be an archive")
    magic, length = _SKIPPABLE.unpack_from(tail)
    body = tail[_SKIPPABLE.size : -_CHECK.size]
    if magic != FOOTER_MAGIC or length != len(tail) - _SKIPPABLE.size or body[:8] != FOOTER_WORD:
        raise Malformed("it does not end as an archive does: it is cut short, or not one of ours")
    if _CHECK.unpack(tail[-_CHECK.size :])[0] != zlib.crc32(body):
        raise Malformed("its last bytes are damaged")
    _, version, offset, index_bytes, index_sha256, packed = _FOOTER.unpack(body)
    if version > NEWEST_FORMAT:
        raise NewerFormat(f"it was made by a newer scratchflow (format {version}); update this one")
    if version < 1:
        raise Malformed("its footer makes no sense")
    if offset + index_bytes != archive_bytes - FOOTER_BYTES:
        raise Malformed("index and footer do not meet")
    digest = unpack_digest(packed, SHA256 if version in _EARLIER_VERSIONS else XXH3)
    return Footer(offset, index_bytes, index_sha256, digest, version)
