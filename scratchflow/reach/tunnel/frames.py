"""What travels between the two ends of a tunnel: frames with a kind, a connection and bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator

HEAD = struct.Struct(">BII")
MOST_BYTES = 1 << 18
"""The largest piece of one connection: others wait no longer than that."""
WINDOW_BYTES = 1 << 22
"""How much of one connection may be under way: one whose reader is slow does not stop the others."""

OPEN, DATA, END, GONE, TAKEN, ALIVE = range(6)
"""A new connection; its bytes; no more of them; closed altogether; how many were written; nothing new."""


class NotAFrame(Exception):
    """Bytes that the other end never sends."""


def head(kind: int, connection: int, size_bytes: int) -> bytes:
    """What stands before the bytes of a frame."""
    return HEAD.pack(kind, connection, size_bytes)


def frame(kind: int, connection: int = 0, content: bytes = b"") -> bytes:
    """One frame as it travels."""
    return head(kind, connection, len(content)) + content


def taken_frame(connection: int, count: int) -> bytes:
    """Says that so many bytes of a connection were written, so that as many more may come."""
    return frame(TAKEN, connection, count.to_bytes(4, "big"))


class Frames:
    """Cuts what arrives into frames, without copying what is large."""

    def __init__(self) -> None:
        self._begun = b""

    def take(self, piece: bytes) -> Iterator[tuple[int, int, memoryview]]:
        """The frames that are whole now: kind, connection, content."""
        arrived = memoryview(self._begun + piece if self._begun else piece)
        start = 0
        while len(arrived) - start >= HEAD.size:
            kind, connection, size = HEAD.unpack_from(arrived, start)
            if kind > ALIVE or size > MOST_BYTES:
                raise NotAFrame("the other end does not speak as agreed")
            end = start + HEAD.size + size
            if end > len(arrived):
                break
            yield kind, connection, arrived[start + HEAD.size : end]
            start = end
        self._begun = bytes(arrived[start:])
