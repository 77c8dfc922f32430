"""A little reserved space, so that a full store can still be pruned: `reserve/`.

To prune, scratchflow needs the lock, and the lock needs a directory and a file. On a full disk or
quota there is no room for them, unless something is given up first: these files hold nothing.
Other users of a full file system may take the room in between; then it is `NoSpace` as before.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from scratchflow.disk.durable import write_new
from scratchflow.store.directory import (
    FILE_MODE,
    RESERVE_NAME,
    StoreDirectory,
    make_private_directory,
)

# The lock takes two inodes, and notes take a few more. XFS wants several hundred KiB free before it
# makes a directory.
_FILES = 6
_FILE_BYTES = 128 * 1024


def ensure_reserve(place: StoreDirectory) -> None:
    """Makes what is missing of the reserve, if there is room for it.

    Needs no lock: of two at once, one may leave it to the other or to the next backup.
    """
    directory = place.directory / RESERVE_NAME
    with suppress(OSError):
        sizes = _sizes(directory)
        if sizes is None:
            make_private_directory(directory)
        for number in range(_FILES):
            if (sizes or {}).get(f"{number}") != _FILE_BYTES:
                _fill(directory / f"{number}")


def free_reserve(place: StoreDirectory) -> None:
    """Removes the reserve. Needs no lock: its files hold nothing."""
    directory = place.directory / RESERVE_NAME
    with suppress(OSError):
        for number in range(_FILES):
            with suppress(FileNotFoundError):
                os.unlink(directory / f"{number}")
        os.rmdir(directory)


def _sizes(directory: Path) -> dict[str, int] | None:
    """Of the files that are there; None when there is no such directory."""
    try:
        with os.scandir(directory) as entries:
            return {one.name: one.stat(follow_symlinks=False).st_size for one in entries}
    except FileNotFoundError:
        return None


def _fill(file: Path) -> None:
    with suppress(FileNotFoundError):
        os.unlink(file)
    # Random bytes: a file system that compresses would hold no room back for zeros.
    write_new(file, os.urandom(_FILE_BYTES), mode=FILE_MODE)
