"""A file of the workspace as it is about to be stored."""

from __future__ import annotations

import os

from scratchflow.archive.format.tar_headers import (
    FILE,
    member_header,
    sparse_records,
    sparse_stand_in,
    xattr_records,
)
from scratchflow.archive.scan.scan import clamped_ns
from scratchflow.archive.tree.tree import KIND_MASK, REGULAR

_SECOND_NS = 1_000_000_000


class SourceError(Exception):
    """A file could not be read; nothing of it is in the stream yet."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def stats_of_file(descriptor: int) -> os.stat_result:
    """What the open file is right now; SourceError if it is no file any more."""
    try:
        stats = os.fstat(descriptor)
    except OSError as error:
        raise SourceError(error) from None
    if stats.st_mode & KIND_MASK != REGULAR:
        raise SourceError(OSError(0, "it is no longer a file"))
    return stats


def file_header(
    path: bytes,
    stats: os.stat_result,
    xattrs: dict[bytes, bytes],
    sparse_prefix: bytes,
    stored: int,
) -> bytes:
    """The header of a file; with a sparse map (`sparse_prefix`) that of a sparse one."""
    records = xattr_records(xattrs)
    if sparse_prefix:
        records |= sparse_records(path, stats.st_size)
    return member_header(
        sparse_stand_in(path) if sparse_prefix else path,
        kind=FILE,
        mode=stats.st_mode,
        mtime_s=clamped_ns(stats.st_mtime_ns) // _SECOND_NS,
        size=len(sparse_prefix) + stored,
        owner=(stats.st_uid, stats.st_gid),
        records=records,
    )


def still_the_same(before: os.stat_result, after: os.stat_result) -> bool:
    """Whether nothing was written in between, as far as the file system's clock can tell."""
    return (before.st_size, before.st_mtime_ns, before.st_ctime_ns) == (
        after.st_size,
        after.st_mtime_ns,
        after.st_ctime_ns,
    )
