"""The list of frames in an archive of which only a part is left, because other snapshots need it.

Its tar stream has the same positions as before, so that the indexes of those snapshots hold. Only where frames
lie in the file has changed, and this list says where; a frame of which nothing is left has no bytes there.
"""

from __future__ import annotations

import hashlib
import sys
from array import array
from operator import le

import msgspec

from scratchflow.archive.format.container import (
    INDEX_MAGIC,
    MAX_FRAME_BYTES,
    skippable_frame,
    split_skippable,
)
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.tree.index import ArchiveFrames


class _Frames(msgspec.Struct, frozen=True):
    """In the file both columns are little-endian."""

    id: str
    raw_ends: bytes
    packed_ends: bytes


def dump_frames(frames: ArchiveFrames) -> bytes:
    """The list as one skippable frame."""
    columns = (_little_endian(frames.raw_ends), _little_endian(frames.packed_ends))
    return skippable_frame(INDEX_MAGIC, msgspec.msgpack.encode(_Frames(frames.id, *columns)))


def load_frames(region: bytes, sha256: bytes) -> ArchiveFrames:
    """Reads a list back and checks it; Malformed says what is wrong."""
    if hashlib.sha256(region).digest() != sha256:
        raise Malformed("the list of its frames is damaged")
    contents = split_skippable(memoryview(region), INDEX_MAGIC)
    if len(contents) != 1:
        raise Malformed("it has no list of its frames")
    try:
        found = msgspec.msgpack.decode(contents[0], type=_Frames)
    except msgspec.MsgspecError as error:
        raise Malformed(f"the list of its frames has a bad form: {error}") from None
    if len(found.raw_ends) % 8 or len(found.raw_ends) != len(found.packed_ends):
        raise Malformed("the list of its frames has a bad form")
    frames = ArchiveFrames(found.id, _numbers(found.raw_ends), _numbers(found.packed_ends))
    _check(frames)
    return frames


def _check(frames: ArchiveFrames) -> None:
    raw, packed = frames.raw_ends, frames.packed_ends
    sizes = [end - start for start, end in zip([0, *raw], raw, strict=False)]
    if any(not 0 < size <= MAX_FRAME_BYTES for size in sizes):
        raise Malformed("it lists a frame of impossible length")
    if not all(map(le, [0, *packed], packed)):
        raise Malformed("it lists frames that do not follow each other")


def _little_endian(column: array[int]) -> bytes:
    copy = column[:]
    if sys.byteorder == "big":
        copy.byteswap()
    return copy.tobytes()


def _numbers(content: bytes) -> array[int]:
    column = array("Q", content)
    if sys.byteorder == "big":
        column.byteswap()
    return column
