"""A directory tree built beside the place it will take, and removed if that never happens.

`<parent>/.scratchflow-restore-<token>/` holds the tree and a note. The note is locked while its writer lives, so
that a later run can tell what a killed one left: the kernel drops the lock with the process.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from scratchflow.disk.trees import remove_tree

PREFIX = ".scratchflow-restore-"
_NAME = re.compile(re.escape(PREFIX) + r"[0-9a-f]{8}", re.ASCII)
_NOTE = "restoring.json"
_TREE = "tree"
# A lock may be invisible to other hosts: what one of them left is theirs for so long.
_FOREIGN_AFTER_S = 7 * 86400


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Who builds here. Written only once the lock is held, or is known not to work here."""

    writer: str = "scratchflow"
    host: str
    locked: bool


@contextmanager
def building_beside(target: Path, token: str) -> Iterator[Path]:
    """An empty directory on the target's file system; what is left of it goes at the end.

    `token`: eight random hex digits.
    """
    outer = target.parent / f"{PREFIX}{token}"
    outer.mkdir(mode=0o700)
    note = os.open(outer / _NOTE, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        content = Note(host=os.uname().nodename, locked=_lock(note))
        os.write(note, msgspec.json.encode(content))
        tree = outer / _TREE
        tree.mkdir(mode=0o700)
        yield tree
    finally:
        try:
            remove_tree(outer)
        finally:
            os.close(note)


def sweep_beside(parent: Path, now: float | None = None) -> None:
    """Removes what killed runs left in a directory, as far as it is certain that they are gone."""
    at = time.time() if now is None else now
    for name in os.listdir(parent):
        if _NAME.fullmatch(name):
            with suppress(OSError, msgspec.DecodeError):
                _sweep_one(parent / name, at)


def _sweep_one(outer: Path, now: float) -> None:
    descriptor = os.open(outer / _NOTE, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        note = msgspec.json.decode(os.read(descriptor, 4096), type=Note)
        if note.writer != "scratchflow" or found.st_uid != os.geteuid():
            return
        is_here = note.locked and note.host == os.uname().nodename
        is_old = now - found.st_mtime > _FOREIGN_AFTER_S
        if (is_here or is_old) and _lock(descriptor):
            remove_tree(outer)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Whether the lock is ours: not when somebody has it, and not where there are no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
