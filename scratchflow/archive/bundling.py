"""Shares the members of an archive out: small ones in bundles, each read and compressed by one thread.

A bundle is about a frame's worth of members. A file that fills frames of its own is read here and
its frames are compressed by all; so are files with several names, of which the first decides.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from scratchflow.archive.frame_buffer import FRAME_BYTES, Frame, OwnFrames, Run
from scratchflow.archive.frame_sink import FrameSink
from scratchflow.archive.index import Index
from scratchflow.archive.member_writer import Member, MemberWriter
from scratchflow.archive.scan import ScannedTree, Warn
from scratchflow.archive.tar_headers import BLOCK

# A larger file is no matter of one thread.
_MAX_BUNDLED_BYTES = FRAME_BYTES // 2
_MIN_BUNDLE_BYTES = FRAME_BYTES // 8
# A file of a bundle may have grown up to this since it was scanned: what a thread may hold.
_MAX_GROWN_BYTES = 4 * FRAME_BYTES


class Bundle:
    """Members for one thread, and what came of them."""

    def __init__(self, members: list[Member]) -> None:
        self.members = members
        self.run = Run()
        self.frames: list[Frame] = []
        self.warnings: list[tuple[str, bytes, str]] = []
        self.writer: MemberWriter | None = None  # its counts and sets


class Bundler:
    """Takes members in the order of the archive and decides who writes them."""

    def __init__(
        self,
        scanned: ScannedTree,
        index: Index,
        sink: FrameSink,
        warn: Warn,
        on_stored: Callable[[bytes], None],
    ) -> None:
        self._scanned = scanned
        self._index = index
        self._sink = sink
        self._warn = warn
        self._on_stored = on_stored
        self._archive_number = len(index.archives)
        self._buffers = threading.local()
        self._waiting: list[Member] = []
        self._waiting_bytes = 0
        self._postponed: list[Member] = []
        self._several_names = {*scanned.hardlinks, *scanned.hardlinks.values()}
        self.writer = MemberWriter(scanned, index, self._archive_number, sink, warn)

    def add(self, member: Member) -> None:
        """The next member."""
        size = self._scanned.size[member[0]]
        if size > _MAX_BUNDLED_BYTES or member[0] in self._several_names:
            self._settle()
            self._add_here(member)
            return
        # More than most need: a bundle that does not fit one frame takes two.
        taken = BLOCK + size + -size % BLOCK
        if self._waiting_bytes + taken > FRAME_BYTES:
            self._send()
        self._waiting.append(member)
        self._waiting_bytes += taken

    def finish(self) -> None:
        """Waits until all is written, and adds what had grown too large for a bundle meanwhile.

        Out of order: plain tar will not give its directory the right mtime.
        """
        self._settle()
        self._sink.drain()
        self.collect()
        for member in self._postponed:
            self._add_here(member)

    def close(self) -> None:
        """Closes the directories that are still open."""
        self.writer.close()

    def collect(self) -> None:
        """Takes over what came of bundles that are written. Warnings are told from here alone."""
        for work in self._sink.take_done():
            if isinstance(work, Bundle):
                self._take_over(work)

    def _take_over(self, bundle: Bundle) -> None:
        assert bundle.writer  # noqa: S101 - it is written
        self.writer.absorb(bundle.writer)
        for told in bundle.warnings:
            self._warn(*told)
        late = {member[0] for member in bundle.writer.postponed}
        for member in bundle.members:
            if member[0] not in late:
                self._on_stored(member[2])
        self._postponed += bundle.writer.postponed

    def _settle(self) -> None:
        """What waits comes before something that is written here.

        Little is written here too: every bundle begins a frame, and small frames compress badly.
        """
        if self._waiting_bytes >= _MIN_BUNDLE_BYTES:
            self._send()
        for member in self._waiting:
            self._add_here(member)
        self._waiting, self._waiting_bytes = [], 0

    def _add_here(self, member: Member) -> None:
        self.writer.add(member)
        self._on_stored(member[2])

    def _send(self) -> None:
        self._sink.hand_out(partial(self._write, Bundle(self._waiting)))
        self._waiting, self._waiting_bytes = [], 0

    def _write(self, bundle: Bundle) -> Bundle:
        """In a thread of the pool."""
        frames = OwnFrames(self._buffer(), self._sink.level)
        writer = MemberWriter(
            self._scanned,
            self._index,
            self._archive_number,
            frames,
            lambda *told: bundle.warnings.append(told),
            _MAX_GROWN_BYTES,
        )
        try:
            for member in bundle.members:
                writer.add(member)
            frames.flush()
        finally:
            writer.close()
        bundle.run, bundle.frames, bundle.writer = frames.run, frames.frames, writer
        return bundle

    def _buffer(self) -> bytearray:
        buffer: bytearray | None = getattr(self._buffers, "buffer", None)
        if buffer is None:
            buffer = self._buffers.buffer = bytearray(FRAME_BYTES)
        return buffer
