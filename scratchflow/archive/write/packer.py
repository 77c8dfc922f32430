"""Packs a bundle of members into one finished frame, in a packer process."""

from __future__ import annotations

import marshal
from collections.abc import Sequence

from scratchflow.archive.format.container import compress_frame
from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.write.archive_out import FRAME_BYTES
from scratchflow.archive.write.locations import MemberNotes
from scratchflow.archive.write.member_writer import Member, MemberWriter


class NotPlain(Exception):
    """The bundle needs a warning or a decision, which only the parent process can make."""


class OneFrame:
    """A sink that ends with its frame."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(FRAME_BYTES))
        self.fill = 0

    @property
    def position(self) -> int:
        """Where in the frame the next byte goes."""
        return self.fill

    def put(self, content: bytes | memoryview) -> None:
        """Appends bytes."""
        self.make_room(len(content))
        self.view[self.fill : self.fill + len(content)] = content
        self.fill += len(content)

    def make_room(self, count: int) -> None:
        """There is room, or the bundle is not for one frame."""
        if self.fill + count > FRAME_BYTES:
            raise NotPlain

    def make_smallest(self) -> None:
        """Chunks of large files are not for packers."""
        raise NotPlain

    def flush(self) -> None:
        """The one frame is full."""
        raise NotPlain


class Packing:
    """Packs bundles, one after the other.

    A bundle with a warning, or with a file that is not as scanned, is given back to the parent,
    which handles and reports it.
    """

    def __init__(self, scanned: ScannedTree, seed: int, level: int) -> None:
        self._sink = OneFrame()
        self._members = MemberWriter(scanned, seed, self._sink, _refuse_to_warn)
        self._level = level

    def pack(self, members: Sequence[Member], out: memoryview) -> tuple[int, int, bytes]:
        """Writes the frame to `out`; how many bytes are in it, its length, and the notes.

        NotPlain if not possible.
        """
        self._sink.fill = 0
        self._members.differing.clear()
        notes = self._members.add(members)
        if self._members.differing:
            raise NotPlain
        length = compress_frame(self._sink.view[: self._sink.fill], self._level, out)
        return self._sink.fill, length, marshal.dumps(notes.columns())


def unpacked_notes(content: bytes | memoryview) -> MemberNotes:
    """The notes of a bundle."""
    return MemberNotes.of(marshal.loads(content))  # noqa: S302 - our own process's


def _refuse_to_warn(_code: str, _path: bytes, _text: str) -> None:
    raise NotPlain
