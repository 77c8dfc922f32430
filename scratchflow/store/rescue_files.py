"""Puts `rescue.py` and `HOW-TO-RESTORE.txt` beside the snapshots, where people find them in need."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from scratchflow.disk.durable import replace_file
from scratchflow.store.directory import FILE_MODE, StoreDirectory
from scratchflow.store.failures import store_errors

RESCUE_NAME = "rescue.py"
GUIDE_NAME = "HOW-TO-RESTORE.txt"

_OURS = Path(__file__).with_name("rescue")
_VERSION = re.compile(rb"version (\d{1,6})\b")
_LIMIT_BYTES = 1 << 20


def put_rescue(place: StoreDirectory) -> None:
    """Writes what is missing, damaged or older than ours; what a newer scratchflow wrote stays.

    Two small reads when nothing is to be done. NoSpace or StoreUnusable when it cannot be written:
    the snapshots are as good as before.
    """
    for name in (RESCUE_NAME, GUIDE_NAME):
        ours = our_files()[name]
        path = place.directory / name
        with store_errors(path):
            if _is_outdated(_read(path), ours):
                replace_file(path, ours, mode=FILE_MODE)


@cache
def our_files() -> dict[str, bytes]:
    """What this scratchflow brings along. A loop reads it at its start: its agent may be removed later."""
    return {name: (_OURS / name).read_bytes() for name in (RESCUE_NAME, GUIDE_NAME)}


def _is_outdated(theirs: bytes, ours: bytes) -> bool:
    return theirs != ours and _version(theirs) <= _version(ours)


def _version(content: bytes) -> int:
    """The number that its first line says; -1 without one."""
    found = _VERSION.search(content.partition(b"\n")[0])
    return int(found[1]) if found else -1


def _read(path: Path) -> bytes:
    """The file's content; empty when it is none that we could have written."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _LIMIT_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
