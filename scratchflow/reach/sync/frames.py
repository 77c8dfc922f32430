"""What travels between this machine and a login host on which unison runs: its text, and what the two unisons say."""

from __future__ import annotations

import os

import msgspec

from scratchflow.reach.tunnel.frames import ALIVE, DATA, END, GONE, OPEN, Frames, frame

__all__ = ["ALIVE", "DATA", "END", "GONE", "OPEN", "Frames", "frame"]

WORD = "sync-end"
"""What starts the far end, in place of a verb; in no `--help`."""
MARK = b"scratchflow-sync "
"""Stands before the token in its first line: login shells may talk before it."""
TEXT, PEER = 0, 1
"""The two streams: what unison prints and reads as its terminal, and what it says to the other unison."""
PIECE_BYTES = 1 << 16
ALIVE_EVERY_S = 10.0
SILENT_S = 35.0
"""After so long without a frame the other side is gone."""
BUSY = -1000
"""In place of an exit code: another sync had the lock for too long."""


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """The first line that a far end reads: what to run, and the token by which its answer is known."""

    token: str
    words: list[str]
    variables: dict[str, str] = {}
    # It runs in the middle of the star, and is given a program that leads to the other unison.
    leads: bool = False


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The last frame of a far end."""

    code: int
    words: str = ""


def write_all(descriptor: int, content: bytes) -> None:
    """Every byte; OSError when nobody reads."""
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]
