"""Large files taken from another copy of the tree on this machine, which is nearer than the archive.

Only their bytes are taken, read and compared with the digest like those of an archive: nothing is linked, and
nothing is believed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from scratchflow.archive.tree.index import Index

_PIECE_BYTES = 1 << 20
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def warm_pieces(index: Index, entry: int, top: bytes) -> Iterator[Iterator[memoryview] | None]:
    """The stored content of a file from beneath `top`; None when no file is there that may be the same.

    It may be another one all the same, or be written to meanwhile: the digest decides.
    """
    descriptor = _opened(index, entry, top)
    if descriptor is None:
        yield None
        return
    try:
        yield _pieces(descriptor, _extents(index, entry))
    finally:
        os.close(descriptor)


def _opened(index: Index, entry: int, top: bytes) -> int | None:
    try:
        descriptor = os.open(os.path.join(top, index.path(entry)), _FLAGS)
    except OSError:
        return None
    found = os.fstat(descriptor)
    # Another time is no proof of another content, but then it is not worth reading all of it to find out.
    looks_same = (found.st_size, found.st_mtime_ns) == (index.size[entry], index.mtime_ns[entry])
    if stat.S_ISREG(found.st_mode) and looks_same:
        return descriptor
    os.close(descriptor)
    return None


def _extents(index: Index, entry: int) -> list[tuple[int, int]]:
    """Offset and length of what is stored of the file: all of it, unless it has holes."""
    extents = index.sparse.get(entry)
    if extents is None:
        return [(0, index.size[entry])]
    return list(zip(extents[::2], extents[1::2], strict=True))


def _pieces(descriptor: int, extents: list[tuple[int, int]]) -> Iterator[memoryview]:
    for start, length in extents:
        done = 0
        while done < length:
            piece = os.pread(descriptor, min(_PIECE_BYTES, length - done), start + done)
            if not piece:  # it became shorter: the digest will be another one
                return
            done += len(piece)
            yield memoryview(piece)
