"""Opens the file of an archive: its footer, its index, and where its frames lie."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from scratchflow.archive.files.limits import refuse_own_limit
from scratchflow.archive.format.container import FOOTER_BYTES, Footer, unpack_footer
from scratchflow.archive.format.index_check import UnsafeName
from scratchflow.archive.format.index_codec import load_index, read_header
from scratchflow.archive.malformed import Malformed, NewerFormat
from scratchflow.archive.tree.index import ArchiveFrames, Index
from scratchflow.model.errors.snapshots import (
    SnapshotClosed,
    SnapshotDamaged,
    SnapshotNewer,
    UnsafeMember,
)
from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.model.text import printable

_Content = TypeVar("_Content")


def open_index(path: Path, like: Index | None = None) -> Index:
    """The index of the archive at `path`, checked so that nothing later can be led astray by it.

    It opens in half the time when `like`, another one, is at hand and has the same paths.
    """
    index = read_index(path, lambda region, sha256: load_index(region, sha256, like))
    require_own(path, index.id)
    return index


def require_own(path: Path, found: str) -> None:
    """SnapshotDamaged when the archive of a store is whole, and that of another snapshot: its name says which it should be."""
    name = path.name.removesuffix(".tar.lz4")
    if is_snapshot_id(name) and found != name:
        reason = f"it is the archive of another snapshot, {printable(found)}"
        raise SnapshotDamaged(snapshot=name, reason=reason, archive=name)


def read_index(path: Path, load: Callable[[bytes, bytes], _Content]) -> _Content:
    """What `load` makes of an archive's index and its SHA-256; SnapshotDamaged or UnsafeMember when it cannot."""
    name = path.name.removesuffix(".tar.lz4")
    try:
        descriptor = open_regular(path)
        try:
            footer = read_footer(descriptor)
            if footer.is_remnant:
                raise Malformed("only what other snapshots need is left of it")
            region = read_exactly(descriptor, footer.index_bytes, footer.index_offset)
        finally:
            os.close(descriptor)
        return load(region, footer.index_sha256)
    except UnsafeName as error:
        reason, member = error.args
        raise UnsafeMember(archive=path, member=os.fsdecode(member), reason=reason) from None
    except (Malformed, OSError) as error:
        refuse_own_limit(error)
        raise unusable_as(error)(snapshot=name, reason=error, archive=name) from error


def unusable_as(error: Exception) -> type[SnapshotDamaged]:
    """The error to raise of a snapshot when this is wrong with an archive."""
    if isinstance(error, PermissionError):
        return SnapshotClosed
    return SnapshotNewer if isinstance(error, NewerFormat) else SnapshotDamaged


def archives_read(path: Path) -> set[str]:
    """The ids of all archives that hold a part of a snapshot, as the index in its own says."""
    return read_index(
        path, lambda region, sha256: {one for one, _ in read_header(region, sha256)[0].archives}
    )


def true_frames(descriptor: int, listed: ArchiveFrames) -> ArchiveFrames:
    """Where the frames of an open archive lie: as an index lists them, unless it was rewritten since."""
    try:
        footer = read_footer(descriptor)
    except NewerFormat:  # frames may lie elsewhere, and would be taken for damaged ones
        raise
    except Malformed:  # damage that may not concern any frame
        return listed
    if not footer.is_remnant:
        return listed
    from scratchflow.archive.format.remnant import load_frames  # there are few of them

    region = read_exactly(descriptor, footer.index_bytes, footer.index_offset)
    found = load_frames(region, footer.index_sha256)
    if (found.id, found.raw_ends) != (listed.id, listed.raw_ends):
        raise Malformed("it was rewritten, and has other frames than the index says")
    return found


def open_regular(path: Path) -> int:
    """The descriptor of an archive; Malformed for a directory, or a FIFO that nobody may ever write to."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise Malformed("it is not a file")


def read_footer(descriptor: int) -> Footer:
    """The footer of an open archive, or Malformed."""
    size = os.fstat(descriptor).st_size
    tail = os.pread(descriptor, FOOTER_BYTES, max(0, size - FOOTER_BYTES))
    return unpack_footer(tail, size)


def read_exactly(descriptor: int, count: int, offset: int) -> bytes:
    """So many bytes from there, or Malformed: a short read is a file cut short."""
    content = os.pread(descriptor, count, offset)
    if len(content) < count:
        parts = [content]
        while (got := sum(map(len, parts))) < count:
            part = os.pread(descriptor, count - got, offset + got)
            if not part:
                raise Malformed("it is cut short")
            parts.append(part)
        content = b"".join(parts)
    return content


def read_into(descriptor: int, view: memoryview, offset: int) -> None:
    """Fills the view from there, or Malformed: a short read is a file cut short."""
    while view:
        got = os.preadv(descriptor, [view], offset)
        if not got:
            raise Malformed("it is cut short")
        view, offset = view[got:], offset + got
