"""Bytes that follow a request on its way to an agent: in frames, with a digest at their end.

Whoever is in between passes them on as they are; only the two ends know the frames.
"""

from __future__ import annotations

import os
import select
import struct
import time
from collections.abc import Callable, Iterator

from scratchflow.model.errors.agent import StreamBroken

_HEAD = struct.Struct(">I")
_DIGEST_BYTES = 32  # of SHA-256
_MAX_PIECE_BYTES = 1 << 20
_END = _HEAD.pack(0)
_GIVEN_UP = _HEAD.pack(0xFFFFFFFF)
_ALIVE = _HEAD.pack(0xFFFFFFFE)
_READ_BYTES = 1 << 18
_QUIET_S = 0.2
# A sender that has nothing to send, while it reads the holes of a huge file say, shows that it lives.
_ALIVE_S = 10.0
SILENT_S = 60.0
"""A sender that is silent for so long is gone: whoever receives holds the store's lock meanwhile."""

Clock = Callable[[], float]


class Upload:
    """What the asker sends. `error` is why it gave up, once the far end has complained."""

    def __init__(self, pieces: Iterator[bytes], monotonic: Clock = time.monotonic) -> None:
        self._pieces = pieces
        self._monotonic = monotonic
        self.error: Exception | None = None

    def frames(self) -> Iterator[bytes]:
        """The pieces as they travel. Never raises: the far end is told instead."""
        import hashlib  # most requests bring nothing

        digest = hashlib.sha256()
        sent_s = self._monotonic()
        try:
            for piece in self._pieces:
                if not piece and self._monotonic() - sent_s < _ALIVE_S:  # nothing yet
                    yield b""
                    continue
                sent_s = self._monotonic()
                if not piece:
                    yield _ALIVE
                for start in range(0, len(piece), _MAX_PIECE_BYTES):
                    part = piece[start : start + _MAX_PIECE_BYTES]
                    digest.update(part)
                    yield _HEAD.pack(len(part)) + part
        except Exception as error:  # noqa: BLE001 - kept for the asker, who raises it
            self.error = error
            yield _GIVEN_UP
            return
        yield _END + digest.digest()


def unframed(raw: Iterator[bytes], monotonic: Clock = time.monotonic) -> Iterator[bytes]:
    """The pieces that were sent; StreamBroken when they are not all, or not the ones that were sent."""
    reader = _Reader(raw, monotonic)
    import hashlib

    digest = hashlib.sha256()
    while (head := reader.exactly(_HEAD.size)) != _END:
        if head == _GIVEN_UP:
            raise StreamBroken(reason="the sender gave up")
        if head == _ALIVE:
            continue
        size = _HEAD.unpack(head)[0]
        if size > _MAX_PIECE_BYTES:
            raise StreamBroken(reason="it is not in the agreed form")
        piece = reader.exactly(size)
        digest.update(piece)
        yield piece
    if reader.exactly(_DIGEST_BYTES) != digest.digest():
        raise StreamBroken(reason="its SHA-256 is not the one of the bytes that were sent")


class _Reader:
    def __init__(self, raw: Iterator[bytes], monotonic: Clock) -> None:
        self._raw = raw
        self._monotonic = monotonic
        self._waiting = bytearray()

    def exactly(self, count: int) -> bytes:
        heard_s = self._monotonic()
        while len(self._waiting) < count:
            piece = next(self._raw, None)
            if piece is None:
                raise StreamBroken(reason="it ended too early")
            if piece:
                heard_s = self._monotonic()
            elif self._monotonic() - heard_s > SILENT_S:
                raise StreamBroken(reason=f"nothing came for {SILENT_S:g} s")
            self._waiting += piece
        taken = bytes(self._waiting[:count])
        del self._waiting[:count]
        return taken


def rest_of_input(descriptor: int, begun: bytes, at_end: Callable[[], None]) -> Iterator[bytes]:
    """What an agent gets after its request, as it comes, and nothing (`b""`) while nothing comes.

    `at_end` is called when the asker has closed it.
    """
    if begun:
        yield begun
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    while True:
        if not poll.poll(_QUIET_S * 1000):
            yield b""
            continue
        try:
            piece = os.read(descriptor, _READ_BYTES)
        except OSError:  # as good as its end
            piece = b""
        if not piece:
            at_end()
            return
        yield piece
