"""What an archive is written to: frames one after the other, then the index, all of it hashed on the way."""

from __future__ import annotations

import errno
import hashlib
import os
from typing import Protocol

from scratchflow.archive.format.container import MAX_FRAME_BYTES, Footer, pack_footer
from scratchflow.archive.format.index_codec import dump_index
from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.archive.tree.index import ArchiveFrames, Index
from scratchflow.model.errors.store import TargetFull

FRAME_BYTES = 4 << 20
assert FRAME_BYTES <= MAX_FRAME_BYTES  # noqa: S101 - a promise of the format, checked at import


class Out(Protocol):
    """What an archive is written to: a raw binary file, opened by the caller."""

    def write(self, content: bytes, /) -> int | None:
        """Writes some of the bytes and says how many (None or all for a buffered file)."""


class FdOut:
    """A plain descriptor as an `Out`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, content: bytes | memoryview, /) -> int:
        """One `write` system call."""
        return os.write(self._descriptor, content)


class ArchiveOut:
    """Writes in order, and knows where the frames lie and what all bytes so far hash to."""

    def __init__(self, out: Out | int, archive_id: str) -> None:
        self.frames = ArchiveFrames(archive_id)
        self.digest = WholeDigest()
        self.written = 0
        self._out: Out = FdOut(out) if isinstance(out, int) else out

    def add_frame(self, packed: bytes | memoryview, raw_bytes: int) -> None:
        """A finished frame, with so many bytes of the tar stream in it."""
        self.append(packed)
        ends = self.frames.raw_ends
        ends.append((ends[-1] if ends else 0) + raw_bytes)
        self.frames.packed_ends.append(self.written)

    def append(self, content: bytes | memoryview) -> None:
        """Writes bytes that are no part of the tar stream."""
        self.digest.update(content)
        try:
            self._write_all(content)
        except OSError as error:
            if error.errno in {
                errno.ENOSPC,
                errno.EDQUOT,
            }:  # the store's own files say so themselves
                path = getattr(self._out, "name", self.frames.id)
                raise TargetFull(path=path, reason=error.strerror) from error
            raise
        self.written += len(content)

    def append_index(self, index: Index) -> None:
        """The index and the footer, after the last frame."""
        offset = self.written
        digest = hashlib.sha256()
        for frame in dump_index(index):
            digest.update(frame)
            self.append(frame)
        index_bytes = self.written - offset
        self.append(pack_footer(Footer(offset, index_bytes, digest.digest(), self.digest.text())))

    def _write_all(self, content: bytes | memoryview) -> None:
        view = memoryview(content)
        while view:
            count = self._out.write(view)  # type: ignore[arg-type]  # any buffer will do
            view = view[len(view) if count is None else count :]
