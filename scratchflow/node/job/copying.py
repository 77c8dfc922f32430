"""Copies a file so that it is whole at its new place, or not there; and how to tell whether it has changed since."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import BinaryIO

from scratchflow.archive.files.holes import data_extents
from scratchflow.disk.durable import TEMP_PREFIX
from scratchflow.disk.private import make_private_directories

_COPY_BYTES = 1 << 20

Stamp = tuple[int, int, int, int, int]
# A file that was written to so shortly before may be written to again without another time.
_RACY_NS = 2 * 10**9


def content_bytes(found: os.stat_result) -> int:
    """A link has no content of its own."""
    return 0 if stat.S_ISLNK(found.st_mode) else found.st_size


def stamp_of(found: os.stat_result) -> Stamp:
    """What differs when a file was written to or replaced."""
    return content_bytes(found), found.st_mtime_ns, found.st_ino, found.st_mode, found.st_ctime_ns


def copy_whole(source: Path, target: Path, *, durable: bool = True) -> Stamp:
    """Puts it there, whole; the stamp of what was copied. Its name is safe when the directory is written out, too."""
    make_private_directories(target.parent)
    temp = target.with_name(f"{TEMP_PREFIX}{os.urandom(6).hex()}")
    try:
        stamp = _copy_to(source, temp, durable=durable)
        os.replace(temp, target)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    return stamp


def _copy_to(source: Path, temp: Path, *, durable: bool) -> Stamp:
    found = os.lstat(source)
    if stat.S_ISLNK(found.st_mode):
        os.symlink(os.readlink(source), temp)
        return stamp_of(found)
    began_ns = time.time_ns()
    with open(source, "rb", opener=_open) as reader, open(temp, "xb") as writer:
        before = os.fstat(reader.fileno())
        os.fchmod(writer.fileno(), 0o600 | (before.st_mode & stat.S_IXUSR))
        _copy_content(reader, writer, before)
        writer.flush()
        os.utime(writer.fileno(), ns=(before.st_atime_ns, before.st_mtime_ns))
        if durable:
            os.fsync(writer.fileno())
    # The stamp from before: if it was written to meanwhile, the next look sees another one.
    is_racy = before.st_ctime_ns > began_ns - _RACY_NS
    return (*stamp_of(before)[:-1], 0) if is_racy else stamp_of(before)


def _copy_content(reader: BinaryIO, writer: BinaryIO, found: os.stat_result) -> None:
    """Holes stay holes: a file of many gigabytes may hold a few bytes only."""
    extents = data_extents(reader.fileno(), found) if found.st_size else None
    for offset, length in zip(extents[::2], extents[1::2], strict=True) if extents else ():
        reader.seek(offset)
        writer.seek(offset)
        left = length
        while left and (piece := reader.read(min(left, _COPY_BYTES))):
            writer.write(piece)
            left -= len(piece)
    if extents is not None:
        writer.truncate(found.st_size)
        reader.seek(found.st_size)  # what was appended meanwhile
        writer.seek(found.st_size)
    else:
        reader.seek(0)
    while piece := reader.read(_COPY_BYTES):
        writer.write(piece)


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
