"""Large files of a backup, read and cut into chunks by processes of their own.

The cutting holds the interpreter's lock: here it would stop everything else. A process puts what it reads
into memory that it shares with the one who asked, so that nobody reads a file twice. What the processes
do is never needed, only welcome: a file that one of them cannot do, or dies over, is read by the one who
asked, and has no chunks.
"""

from __future__ import annotations

import gc
import marshal
import mmap
import os
import socket
import struct
from array import array
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from typing import Any

from scratchflow.archive.files.chunker import Window, cut_windows
from scratchflow.archive.files.digest import StreamDigest, update_with_zeros
from scratchflow.archive.files.handles import DirectoryHandles
from scratchflow.archive.files.holes import MAX_HOLE_BYTES, data_extents
from scratchflow.archive.scan.reread import OPEN_FILE
from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.archive.tree import chunks
from scratchflow.archive.tree.index import DIGEST_BYTES
from scratchflow.archive.workers.fork import end_helper, fork_helper
from scratchflow.archive.write.frame_sink import FRAME_BYTES

# The new chunks of one window, a header and what fills the last block up fit into one frame.
WINDOW_BYTES = FRAME_BYTES - (64 << 10)
_SLOTS = 4  # windows that one process may be ahead

_LENGTH = struct.Struct("<I")  # of the message that follows
# What is said to a process: a file to cut, that it is not wanted any more, or -2 - slot: the slot is free.
_WORD = struct.Struct("<q")
_STOP = -1
_NOT_SHARED = -1  # the slot of a window whose content nobody needs

IsKnown = Callable[[bytes, int], bool]  # whether an archive holds the chunk (digest, length)
Stamps = tuple[int, int, int, int]


def stamps_of(stats: os.stat_result) -> Stamps:
    """What changes when somebody writes to a file, or puts another one in its place."""
    return stats.st_ino, stats.st_size, stats.st_mtime_ns, stats.st_ctime_ns


class CutFiles:
    """Cuts these files of a tree in this order, with up to `count` processes; `close` leaves none behind."""

    def __init__(
        self,
        scanned: ScannedTree,
        seed: int,
        entries: Sequence[int],
        count: int,
        is_known: IsKnown = lambda _digest, _length: False,
    ) -> None:
        """The content of a window is not shared when all of its chunks are known, here and now."""
        self.entries = frozenset(entries)
        self._waiting = deque(entries)
        self._cutters: list[_Cutter] = []
        if not chunks.CAN_CUT:
            return
        work = _Work(scanned, seed, is_known)
        try:
            for _ in range(min(count, len(entries))):
                self._cutters.append(_Cutter(work))
        except OSError:  # no more processes or memory allowed: those there are will do
            pass
        except BaseException:
            self.close()
            raise
        self._hand_out()

    def __enter__(self) -> CutFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def processes(self) -> list[int]:
        """Those that are at work."""
        return [cutter.process for cutter in self._cutters]

    def close(self) -> None:
        """Ends all of them. May be called twice."""
        while self._cutters:
            self._cutters.pop().close()

    def open(self, entry: int, stats: os.stat_result) -> CutStream | None:
        """A file that is like this, as a process reads it; None when none of them can.

        Those that come before it in the order are given up.
        """
        if entry not in self.entries:
            return None
        while self._waiting and self._waiting[0] < entry:
            self._waiting.popleft()
        for one in self._cutters:
            if one.entry is not None and one.entry < entry:
                one.give_up()
        self._hand_out()
        for one in self._cutters:
            if one.entry == entry:
                return self._begun(one, stats)
        return None

    def _begun(self, cutter: _Cutter, stats: os.stat_result) -> CutStream | None:
        begins = cutter.hear()
        if begins is None:
            return None
        stamps, extents = begins
        if stamps != stamps_of(stats):
            cutter.give_up()
            return None
        return CutStream(cutter, extents, self._hand_out)

    def _hand_out(self) -> None:
        """Gives every process something to do. One that died has been buried."""
        self._cutters = [cutter for cutter in self._cutters if cutter.is_alive]
        for cutter in self._cutters:
            if cutter.entry is None and self._waiting:
                cutter.begin(self._waiting.popleft())


class CutStream:
    """The stored bytes of a file, with the chunks that they consist of.

    `digest` is that of the whole file, holes included, once it was read to its end; it stays None when
    it could not be.
    """

    def __init__(
        self, cutter: _Cutter, extents: list[int] | None, when_over: Callable[[], None]
    ) -> None:
        self.extents = extents
        self.lengths = array("I")
        self.digests = bytearray()
        self.digest: bytes | None = None
        self._cutter = cutter
        self._entry = cutter.entry
        self._when_over = when_over
        self._windows = self._receive()
        self._left = memoryview(b"")

    def close(self) -> None:
        """Nobody wants the rest. May be called twice, and after the end."""
        self._windows.close()

    def windows(self) -> Iterator[Window]:
        """The file in pieces; the content of one is there until the next is asked for.

        A window whose chunks are all known has no content.
        """
        return self._windows

    def read_into(self, room: memoryview) -> int:
        """Puts the next bytes there and says how many; none at the end, whatever the reason for it."""
        while not self._left:
            window = next(self._windows, None)
            if window is None:
                return 0
            self._left = window.content
        count = min(len(room), len(self._left))
        room[:count] = self._left[:count]
        self._left = self._left[count:]
        return count

    def _receive(self) -> Generator[Window, None, None]:
        cutter = self._cutter
        is_over = False
        try:
            while True:
                message = cutter.hear()
                if message is None or len(message) == 1:
                    is_over = True
                    self.digest = message[0] if message else None
                    return
                slot, lengths, digests = message
                window = Window(cutter.content(slot, lengths), array("I", lengths), digests)
                self.lengths.extend(window.lengths)
                self.digests += digests
                yield window
                self._left = memoryview(b"")
                cutter.release(slot)
        finally:
            if is_over:
                cutter.entry = None
            elif cutter.entry == self._entry:
                cutter.give_up()
            self._when_over()


class _Cutter:
    """One process, as the one who asks sees it."""

    def __init__(self, work: _Work) -> None:
        self.entry: int | None = None  # what it cuts
        self.is_alive = True
        self._memory = mmap.mmap(-1, _SLOTS * WINDOW_BYTES)  # taken when touched
        self._slots = _slots_in(self._memory)
        self._line, theirs = socket.socketpair()
        try:
            slots = self._slots
            self.process = fork_helper(lambda: work.run(theirs, slots), [theirs.fileno()])
        except BaseException:
            self._line.close()
            raise
        finally:
            theirs.close()

    def close(self) -> None:
        """Ends it. May be called twice."""
        if self.is_alive:
            self.is_alive, self.entry = False, None
            end_helper(self.process)
            self._line.close()

    def begin(self, entry: int) -> None:
        """Lets it cut a file; all slots are free."""
        self.entry = entry
        self._say(entry)

    def release(self, slot: int) -> None:
        """The content of a window was taken."""
        if slot != _NOT_SHARED:
            self._say(-2 - slot)

    def give_up(self) -> None:
        """Nobody wants the rest of the file."""
        self._say(_STOP)
        while (message := self.hear()) and len(message) != 1:
            pass
        self.entry = None

    def content(self, slot: int, lengths: bytes) -> memoryview:
        """What a window holds."""
        if slot == _NOT_SHARED:
            return memoryview(b"")
        return self._slots[slot][: sum(array("I", lengths))]

    def hear(self) -> Any:
        """The next message; None when the file cannot be cut, or the process is gone."""
        size = self._receive(_LENGTH.size)
        content = self._receive(_LENGTH.unpack(size)[0]) if size else None
        if content is None:
            self.close()
            return None
        message = marshal.loads(content)  # noqa: S302 - our own process's
        if message is None:
            self.entry = None
        return message

    def _say(self, word: int) -> None:
        if self.is_alive:
            with suppress(OSError):  # it is gone: the next word from it will be missed
                self._line.sendall(_WORD.pack(word), socket.MSG_NOSIGNAL)

    def _receive(self, count: int) -> bytes | None:
        """Exactly so many bytes; None when the other end is gone."""
        content = bytearray()
        while self.is_alive and len(content) < count:
            try:
                piece = self._line.recv(count - len(content))
            except OSError:
                piece = b""
            if not piece:
                return None
            content += piece
        return bytes(content) if self.is_alive else None


def _slots_in(memory: mmap.mmap) -> list[memoryview]:
    view = memoryview(memory)
    return [view[at : at + WINDOW_BYTES] for at in range(0, _SLOTS * WINDOW_BYTES, WINDOW_BYTES)]


class _Stopped(Exception):
    """The rest of the file is not wanted."""


class _Work:
    """What a process does."""

    def __init__(self, scanned: ScannedTree, seed: int, is_known: IsKnown) -> None:
        self._scanned = scanned
        self._seed = seed
        self._is_known = is_known

    def run(self, line: socket.socket, slots: list[memoryview]) -> None:
        """Cuts file after file, until the one who asks is gone."""
        gc.disable()  # it makes no cycles, and must not touch, and so copy, what it shares
        self._line, self._slots = line, slots
        with self._scanned.handles() as handles:
            while (word := self._hear()) is not None:
                if word >= 0:
                    self._free = list(range(len(slots)))
                    self._say(self._cut(handles, word))

    def _cut(self, handles: DirectoryHandles, entry: int) -> Any:
        """One file; returns the last message about it."""
        scanned = self._scanned
        try:
            directory = handles.get(scanned.group_of(entry))
            descriptor = os.open(scanned.names[entry], OPEN_FILE, dir_fd=directory)
        except OSError:
            return None
        try:
            before = os.fstat(descriptor)
            source = _Source(descriptor, before, self._seed)
            if not source.is_worthwhile:
                return None
            self._say((stamps_of(before), source.extents))
            return (self._cut_open(source),)
        finally:
            os.close(descriptor)

    def _cut_open(self, source: _Source) -> bytes | None:
        """Tells every window; returns the digest of the whole file, if it could be read to its end."""
        windows = cut_windows(source.read, source.stored, self._seed, self._free_slot)
        try:
            for window in windows:
                self._tell(window)
        except (OSError, _Stopped):
            return None
        return source.digest() if source.left == 0 else None

    def _tell(self, window: Window) -> None:
        digests = [
            window.digests[at : at + DIGEST_BYTES]
            for at in range(0, len(window.digests), DIGEST_BYTES)
        ]
        slot = _NOT_SHARED
        if not all(map(self._is_known, digests, window.lengths)):
            slot = self._free.pop(0)
        self._say((slot, window.lengths.tobytes(), window.digests))

    def _free_slot(self) -> memoryview:
        """The first slot that nobody reads from: it stays free if its content is not told of."""
        while not self._free or self._has_word():
            word = self._hear()
            if word is None:
                os._exit(1)
            if word == _STOP:
                raise _Stopped
            self._free.append(-2 - word)
        return self._slots[self._free[0]]

    def _has_word(self) -> bool:
        try:
            return bool(self._line.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except BlockingIOError:
            return False

    def _hear(self) -> int | None:
        content = self._line.recv(_WORD.size, socket.MSG_WAITALL)
        return _WORD.unpack(content)[0] if len(content) == _WORD.size else None

    def _say(self, message: Any) -> None:
        content = marshal.dumps(message)
        self._line.sendall(_LENGTH.pack(len(content)) + content)


class _Source:
    """The stored bytes of an open file, from the first to the last, and the digest of it all."""

    def __init__(self, descriptor: int, stats: os.stat_result, seed: int) -> None:
        self.extents = data_extents(descriptor, stats)
        pairs = [0, stats.st_size] if self.extents is None else self.extents
        self.stored = self.left = sum(pairs[1::2])
        self._descriptor = descriptor
        self._size = stats.st_size
        self._coming = deque(zip(pairs[::2], pairs[1::2], strict=True))
        self._at = 0  # in the file, of what was digested
        self._digest = StreamDigest(seed=seed)

    @property
    def is_worthwhile(self) -> bool:
        """Whether it has enough content for chunks, and no more holes than any reader takes."""
        holes = self._size - self.stored
        return self.stored >= chunks.MIN_CHUNKED_BYTES and holes <= MAX_HOLE_BYTES

    def read(self, room: memoryview) -> int:
        """Some of the next bytes; none when the file is shorter than it was."""
        offset, length = self._coming[0]
        got = os.preadv(self._descriptor, [room[:length]], offset)
        update_with_zeros(self._digest, offset - self._at)
        self._digest.update(room[:got])
        self._at = offset + got
        self.left -= got
        self._coming[0] = (offset + got, length - got)
        if got == length:
            self._coming.popleft()
        return got

    def digest(self) -> bytes:
        """Of the whole file."""
        update_with_zeros(self._digest, self._size - self._at)
        return self._digest.digest()
