"""Cuts a large file into chunks at places that its content decides, and digests each.

An insertion moves every byte behind it, but not the places where the content is cut: chunks that
were stored before are found again.
"""

from __future__ import annotations

import sys
import typing
from array import array
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec

from scratchflow.archive.files.digest import digest_of_bytes

if TYPE_CHECKING:
    from pyfastcdc import FastCDC

# Smaller chunks find more, and take more room in the index. No byte before the minimum has to be
# looked at, and after the target a place to cut at is soon found: about a fifth of a file is looked at.
# docs/dependencies.md has figures.
MIN_CHUNK_BYTES = 128 << 10
CHUNK_BYTES = 128 << 10
MAX_CHUNK_BYTES = 512 << 10

Cutter = Callable[[memoryview], list[int]]  # the lengths of the chunks that content consists of


class Window(msgspec.Struct, frozen=True):
    """A stretch of a file: the chunks that it consists of, in their order."""

    content: memoryview
    lengths: array[int]
    digests: bytes  # 16 bytes a chunk


def cutter_at_content() -> Cutter:
    """One that cuts where the content says so; ImportError where there is no wheel for it."""
    cdc = _loaded_chunker()(
        avg_size=CHUNK_BYTES,
        min_size=MIN_CHUNK_BYTES,
        max_size=MAX_CHUNK_BYTES,
        normalized_chunking=2,
    )
    return lambda content: [chunk.length for chunk in cdc.cut_buf(content)]


def _loaded_chunker() -> type[FastCDC]:
    """The class, loaded in a fifth of the time: `typing` has what it takes from `typing_extensions`, which loads `inspect` and more."""
    name = "typing_extensions"
    if name not in sys.modules:
        sys.modules[name] = typing
        try:
            from pyfastcdc import FastCDC
        except ImportError:  # another version may take more
            pass
        else:
            return FastCDC
        finally:
            sys.modules.pop(name, None)  # another thread may have been here, too
    from pyfastcdc import FastCDC

    return FastCDC


def cut_blocks(content: memoryview) -> list[int]:
    """Cuts into blocks of one length."""
    whole, rest = divmod(len(content), CHUNK_BYTES)
    return [CHUNK_BYTES] * whole + [rest] * bool(rest)


def best_cutter() -> Cutter:
    """The one that finds more, if it is at hand. Blocks find what did not move."""
    try:
        return cutter_at_content()
    except ImportError:
        return cut_blocks


def cut_windows(
    read: Callable[[memoryview], int],
    total: int,
    seed: int,
    next_buffer: Callable[[], memoryview],
    cutter: Cutter | None = None,
) -> Iterator[Window]:
    """Reads so many bytes into buffers, and yields each with the chunks that are whole in it.

    What is left of a buffer goes to the beginning of the next one, which may be the same. Buffers must
    be longer than any chunk. Ends early when `read` has no more.
    """
    cut = cutter or best_cutter()
    rest = memoryview(b"")
    done = 0
    while done < total:
        buffer = next_buffer()
        fill = len(rest)
        buffer[:fill] = rest
        while fill < len(buffer) and done < total:
            got = read(buffer[fill : fill + total - done])
            if not got:
                return
            fill, done = fill + got, done + got
        lengths = array("I", cut(buffer[:fill]))
        if done < total:
            lengths.pop()  # it ends where the buffer does: more content may show where it really ends
        used = sum(lengths)
        yield Window(buffer[:used], lengths, _digests(buffer, lengths, seed))
        rest = buffer[used:fill]


class ContentCutter:
    """Cuts content that passes by in pieces of any size.

    `lengths` and `digests` are those of its chunks, once it is finished.
    """

    def __init__(self, seed: int, cutter: Cutter | None = None) -> None:
        self.lengths = array("I")
        self.digests = bytearray()
        self._seed = seed
        self._cut = cutter or best_cutter()
        self._begun = memoryview(bytearray(MAX_CHUNK_BYTES))  # of a chunk that goes on
        self._fill = 0

    def update(self, content: memoryview) -> None:
        """The next bytes."""
        if self._fill:
            content = self._go_on(content)
        if content:
            lengths = array("I", self._cut(content))
            rest = lengths.pop()  # more content may show where it really ends
            self._note(content, lengths)
            self._begun[:rest] = content[len(content) - rest :]
            self._fill = rest

    def finish(self) -> None:
        """There are no more."""
        if self._fill:
            self._note(self._begun, array("I", self._cut(self._begun[: self._fill])))
            self._fill = 0

    def _go_on(self, content: memoryview) -> memoryview:
        """Ends the chunk that was begun, if its end is there; returns the bytes behind it."""
        begun, fill = self._begun, self._fill
        count = min(len(content), len(begun) - fill)
        begun[fill : fill + count] = content[:count]
        end = self._cut(begun[: fill + count])[0]
        if end == fill + count < len(begun):
            self._fill = end
            return content[count:]
        self._note(begun, array("I", [end]))
        if (
            end < fill
        ):  # the last byte that was there can show that it ended before: bytes are looked at in pairs
            rest = bytes(begun[end:fill])
            begun[: len(rest)] = rest
            self._fill = len(rest)
            return self._go_on(content)
        self._fill = 0
        return content[end - fill :]

    def _note(self, content: memoryview, lengths: array[int]) -> None:
        self.lengths.extend(lengths)
        self.digests += _digests(content, lengths, self._seed)


def _digests(content: memoryview, lengths: array[int], seed: int) -> bytes:
    ends = accumulate(lengths)
    return b"".join(
        digest_of_bytes(content[end - length : end], seed)
        for end, length in zip(ends, lengths, strict=True)
    )
