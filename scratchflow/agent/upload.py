"""Bytes that follow a request on its way to an agent: in frames, with a digest at their end.

Whoever is in between passes them on as they are; only the two ends know the frames.
"""

from __future__ import annotations

import hashlib
import os
import select
import struct
from collections.abc import Callable, Iterator

from scratchflow.model.errors import StreamBroken

_HEAD = struct.Struct(">I")
_DIGEST_BYTES = hashlib.sha256().digest_size
_MAX_PIECE_BYTES = 1 << 20
_END = _HEAD.pack(0)
_GIVEN_UP = _HEAD.pack(0xFFFFFFFF)
_READ_BYTES = 1 << 18
_QUIET_S = 0.2


class Upload:
    """What the asker sends. `error` is why it gave up, once the far end has complained."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self.error: Exception | None = None

    def frames(self) -> Iterator[bytes]:
        """The pieces as they travel. Never raises: the far end is told instead."""
        digest = hashlib.sha256()
        try:
            for piece in self._pieces:
                if not piece:  # nothing yet
                    yield b""
                for start in range(0, len(piece), _MAX_PIECE_BYTES):
                    part = piece[start : start + _MAX_PIECE_BYTES]
                    digest.update(part)
                    yield _HEAD.pack(len(part)) + part
        except Exception as error:  # noqa: BLE001 - kept for the asker, who raises it
            self.error = error
            yield _GIVEN_UP
            return
        yield _END + digest.digest()


def unframed(raw: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces that were sent; StreamBroken when they are not all, or not the ones that were sent."""
    reader = _Reader(raw)
    digest = hashlib.sha256()
    while (head := reader.exactly(_HEAD.size)) != _END:
        if head == _GIVEN_UP:
            raise StreamBroken(reason="the sender gave up")
        size = _HEAD.unpack(head)[0]
        if size > _MAX_PIECE_BYTES:
            raise StreamBroken(reason="it is not in the agreed form")
        piece = reader.exactly(size)
        digest.update(piece)
        yield piece
    if reader.exactly(_DIGEST_BYTES) != digest.digest():
        raise StreamBroken(reason="its SHA-256 is not the one of the bytes that were sent")


class _Reader:
    def __init__(self, raw: Iterator[bytes]) -> None:
        self._raw = raw
        self._waiting = bytearray()

    def exactly(self, count: int) -> bytes:
        while len(self._waiting) < count:
            piece = next(self._raw, None)
            if piece is None:
                raise StreamBroken(reason="it ended too early")
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
