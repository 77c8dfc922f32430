"""Forked processes that read, digest and compress bundles of small files.

Threads would do for the compression, which runs without the interpreter's lock; what is done for
each file holds it. A packer puts its frame into memory that it shares with the one who asked, so
that no byte goes through a pipe. What packers make is never needed, only welcome: a bundle that
one gives back, or dies over, is done by the one who asked.
"""

from __future__ import annotations

import gc
import marshal
import mmap
import select
import socket
import struct
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue

import msgspec

from scratchflow.archive.format.container import MAX_PACKED_BYTES
from scratchflow.archive.workers.fork import end_helper, fork_helper
from scratchflow.archive.write.batches import Bundle
from scratchflow.archive.write.packer import NotPlain, Packing

_ASKED = struct.Struct("<II")  # slot, bytes of the bundle that follows
_ANSWER = struct.Struct("<IIII")  # slot, bytes in the frame, of the frame, of the notes after it
_SLOT_BYTES = MAX_PACKED_BYTES + (1 << 20)  # the frame, then the notes
# Bundles that a packer has at a time: one that it packs, and one that it goes on with at once. The
# fewer they are, the better they are shared out.
_BUNDLES_EACH = 2
# Frames for each packer, under way or waiting for their turn to be written. While the caller is
# busy with a large file, a packer may have so many bundles.
_SLOTS_EACH = 4
# Bundles that may be known in advance: a run of large files is not worth looking past for ever.
_MAX_AHEAD = 256


class Frame(msgspec.Struct, frozen=True):
    """A finished frame, in memory that is used again after `release`."""

    packed: memoryview
    raw_bytes: int
    notes: bytes
    slot: int
    released: SimpleQueue[int]

    def release(self) -> None:
        """Its bytes are no longer needed; may be called by any thread."""
        self.packed.release()
        self.released.put(self.slot)


class _Packer:
    """One packer process, as the parent sees it."""

    def __init__(self, process: int, line: socket.socket) -> None:
        self.process = process
        self.line = line
        self.waiting: dict[int, Bundle] = {}  # by slot


class Packers:
    """Up to `count` processes; `close` leaves none behind."""

    def __init__(self, packing: Callable[[], Packing], count: int) -> None:
        """`packing` is called once in each process: what it opens is its own."""
        self._alive: dict[int, _Packer] = {}  # by descriptor
        self._free: list[int] = []
        self._released: SimpleQueue[int] = SimpleQueue()
        self._coming: Iterator[Bundle] = iter(())
        self._ahead: deque[Bundle] = deque()  # taken from `_coming`, in order
        self._results: dict[Bundle, Frame | None] = {}
        self._poll = select.poll()
        if not count or sys.platform != "linux":
            return
        try:
            self._slots = mmap.mmap(-1, count * _SLOTS_EACH * _SLOT_BYTES)  # taken when touched
            self._free += range(count * _SLOTS_EACH)
            for _ in range(count):
                self._fork(packing)
        except OSError:  # no more processes or memory allowed: those there are will do
            return
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Packers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def processes(self) -> list[int]:
        """Those that are at work."""
        return [packer.process for packer in self._alive.values()]

    def dismiss(self) -> None:
        """Lets the packers end: nothing more will be packed."""
        for packer in self._alive.values():
            with suppress(OSError):  # it is gone already
                packer.line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Ends all of them. May be called twice. Frames stay readable until they are released."""
        for packer in list(self._alive.values()):
            self._bury(packer)

    def pack(self, bundles: Iterator[Bundle]) -> Iterator[tuple[Bundle, Frame | None]]:
        """Every bundle in order, with its frame; without one it is left to the caller."""
        self._coming = bundles
        while True:
            self._hand_out()
            if self._alive and not (self._ahead or self._free):
                self._free.append(self._released.get())  # all of them wait to be written
                continue
            bundle = self._ahead.popleft() if self._ahead else next(bundles, None)
            if bundle is None:
                return
            if not bundle.fits_frame:
                self._hand_out(_SLOTS_EACH)
            yield bundle, self._result(bundle)

    def _hand_out(self, each: int = _BUNDLES_EACH) -> None:
        """Sends more bundles to packers that have few, while there is room for the results."""
        with suppress(Empty):
            while True:
                self._free.append(self._released.get_nowait())
        while self._free and len(self._ahead) < _MAX_AHEAD and (packer := self._least_busy(each)):
            bundle = next(self._coming, None)
            if bundle is None:
                return
            self._ahead.append(bundle)
            if bundle.fits_frame:
                self._ask(packer, bundle, self._free.pop())

    def _least_busy(self, enough: int) -> _Packer | None:
        """The packer with the fewest bundles; None when all have enough."""
        packer = min(self._alive.values(), key=lambda one: len(one.waiting), default=None)
        return packer if packer and len(packer.waiting) < enough else None

    def _ask(self, packer: _Packer, bundle: Bundle, slot: int) -> None:
        packer.waiting[slot] = bundle
        task = marshal.dumps(bundle.members)
        try:
            # May have to wait until the packer reads it, which it always comes to: its own answers
            # are too short to wait for us.
            packer.line.sendall(_ASKED.pack(slot, len(task)) + task, socket.MSG_NOSIGNAL)
        except OSError:
            self._bury(packer)

    def _result(self, bundle: Bundle) -> Frame | None:
        while bundle not in self._results:
            if not any(bundle in packer.waiting.values() for packer in self._alive.values()):
                return None
            for descriptor, _ in self._poll.poll():
                self._hear(self._alive[descriptor])
            self._hand_out()
        return self._results.pop(bundle)

    def _hear(self, packer: _Packer) -> None:
        answer = _receive(packer.line, _ANSWER.size)
        if answer is None:
            self._bury(packer)
            return
        slot, raw_bytes, packed_bytes, notes_bytes = _ANSWER.unpack(answer)
        bundle = packer.waiting.pop(slot)
        if not packed_bytes:
            self._results[bundle] = None
            self._free.append(slot)
            return
        start = slot * _SLOT_BYTES
        end = start + packed_bytes
        packed = memoryview(self._slots)[start:end]
        notes = self._slots[end : end + notes_bytes]
        self._results[bundle] = Frame(packed, raw_bytes, notes, slot, self._released)

    def _bury(self, packer: _Packer) -> None:
        """Ends a packer; the caller packs what it had in progress."""
        if packer.line.fileno() not in self._alive:
            return
        end_helper(packer.process)  # first: interrupted here, `close` still knows of it
        del self._alive[packer.line.fileno()]
        self._poll.unregister(packer.line)
        packer.line.close()
        self._results.update(dict.fromkeys(packer.waiting.values()))
        self._free += packer.waiting  # nobody writes there any more
        packer.waiting.clear()

    def _fork(self, packing: Callable[[], Packing]) -> None:
        ours, theirs = socket.socketpair()
        try:
            process = fork_helper(
                lambda: _serve(theirs, packing(), memoryview(self._slots)), (theirs.fileno(),)
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        packer = _Packer(process, ours)
        self._alive[ours.fileno()] = packer
        self._poll.register(ours, select.POLLIN)


def _serve(line: socket.socket, packing: Packing, slots: memoryview) -> None:
    """Runs a packer until the parent closes its end of the socket."""
    gc.disable()  # it makes no cycles, and must not touch, and so copy, what it shares
    while asked := _receive(line, _ASKED.size):
        slot, length = _ASKED.unpack(asked)
        task = _receive(line, length)
        if task is None:
            return
        answer = _packed(packing, marshal.loads(task), slots, slot)  # noqa: S302 - the asker's
        line.sendall(_ANSWER.pack(slot, *answer))


def _packed(
    packing: Packing, members: Sequence[tuple[int, int, bytes, bytes]], slots: memoryview, slot: int
) -> tuple[int, int, int]:
    """Packs into the slot; the sizes of what is in it, or zeros."""
    room = slots[slot * _SLOT_BYTES : (slot + 1) * _SLOT_BYTES]
    try:
        raw_bytes, packed_bytes, notes = packing.pack(members, room)
    except NotPlain:
        return 0, 0, 0
    if packed_bytes + len(notes) > _SLOT_BYTES:
        return 0, 0, 0
    room[packed_bytes : packed_bytes + len(notes)] = notes
    return raw_bytes, packed_bytes, len(notes)


def _receive(line: socket.socket, count: int) -> bytes | None:
    """Exactly so many bytes; None when the other end is gone."""
    content = bytearray()
    while len(content) < count:
        try:
            piece = line.recv(count - len(content))
        except ConnectionError:
            return None
        if not piece:
            return None
        content += piece
    return bytes(content)
