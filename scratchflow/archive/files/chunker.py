"""Cuts a large file into chunks at places that its content decides, and digests each.

An insertion moves every byte behind it, but not the places where the content is cut: chunks that
were stored before are found again. The cutting holds the interpreter's lock, so it belongs into a
process of its own.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable

import msgspec

from scratchflow.archive.files.digest import StreamDigest, digest_of_bytes

# Smaller chunks find more, and take more room in the index; docs/dependencies.md has figures.
MIN_CHUNK_BYTES = 32 << 10
CHUNK_BYTES = 128 << 10
MAX_CHUNK_BYTES = 512 << 10
# A smaller file is stored whole: its compressed size is what a few changed chunks would take.
MIN_CHUNKED_BYTES = 8 << 20
_WINDOW_BYTES = 8 << 20

Cutter = Callable[[memoryview], list[int]]  # the lengths of the chunks that content consists of


class CutFile(msgspec.Struct, frozen=True):
    """A file as it was read: the chunks in their order, and the digest of the whole."""

    lengths: array[int]
    digests: bytes  # 16 bytes a chunk
    digest: bytes


def cutter_at_content() -> Cutter:
    """One that cuts where the content says so; ImportError where there is no wheel for it."""
    from pyfastcdc import FastCDC

    cdc = FastCDC(avg_size=CHUNK_BYTES, min_size=MIN_CHUNK_BYTES, max_size=MAX_CHUNK_BYTES)
    return lambda content: [chunk.length for chunk in cdc.cut_buf(content)]


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


def cut_file(
    descriptor: int,
    size: int,
    seed: int,
    *,
    cutter: Cutter | None = None,
    check: Callable[[], None] = lambda: None,
) -> CutFile | None:
    """Cuts the first `size` bytes of an open file; None when it has fewer.

    `check` is called before each read: it may raise when nobody wants the result any more.
    """
    cut = cutter or best_cutter()
    whole = StreamDigest(seed=seed)
    lengths, digests = array("I"), bytearray()
    buffer = bytearray(_WINDOW_BYTES)
    view = memoryview(buffer)
    fill = done = 0  # bytes that wait in the buffer; bytes that were read
    while done < size:
        check()
        got = os.preadv(descriptor, [view[fill : fill + size - done]], done)
        if not got:
            return None
        whole.update(view[fill : fill + got])
        fill, done = fill + got, done + got
        if fill < _WINDOW_BYTES and done < size:
            continue
        start = 0
        for length in cut(view[:fill]):
            # The last one ends where the window does: more content may show where it really ends.
            if start + length == fill and done < size:
                break
            lengths.append(length)
            digests += digest_of_bytes(view[start : start + length], seed)
            start += length
        buffer[: fill - start] = buffer[start:fill]
        fill -= start
    return CutFile(lengths, bytes(digests), whole.digest())
