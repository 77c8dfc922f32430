"""A directory tree built beside the place it will take, and removed if that never happens.

`<parent>/.scratchflow-restore-<token>/` holds the tree and a note. The note is locked while its writer lives, so
that a later run can tell what a killed one left: the kernel drops the lock with the process.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from scratchflow.disk.process_lock import lock_now
from scratchflow.disk.trees import remove_tree

PREFIX = ".scratchflow-restore-"
_NAME = re.compile(re.escape(PREFIX) + r"[0-9a-f]{8}", re.ASCII)
_NOTE = "restoring.json"
_TREE = "tree"
# A lock may be invisible to other hosts: what one of them left is theirs for so long.
_FOREIGN_AFTER_S = 7 * 86400
# A live run writes its note at once. A directory that has none after so long was left by a killed one.
_NOTE_AFTER_S = 3600


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
        content = Note(host=os.uname().nodename, locked=lock_now(note))
        os.write(note, msgspec.json.encode(content))
        tree = outer / _TREE
        tree.mkdir(mode=0o700)
        yield tree
    finally:
        try:
            _remove(outer)
        finally:
            os.close(note)


def sweep_beside(parent: Path, now: float | None = None) -> None:
    """Removes what killed runs left in a directory, as far as it is certain that they are gone."""
    at = time.time() if now is None else now
    for name in os.listdir(parent):
        if _NAME.fullmatch(name):
            with suppress(OSError):
                _sweep_one(parent / name, at)


def _sweep_one(outer: Path, now: float) -> None:
    try:
        descriptor = os.open(outer / _NOTE, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        _remove_unbegun(outer, now)
        return
    try:
        found = os.fstat(descriptor)
        content = os.read(descriptor, 4096)
        if found.st_uid != os.geteuid():
            return
        if not content:
            _remove_unbegun(outer, now)
        elif _is_abandoned(content, now - found.st_mtime) and lock_now(descriptor):
            _remove(outer)
    finally:
        os.close(descriptor)


def _is_abandoned(content: bytes, age_s: float) -> bool:
    """Whether a note's writer is known to be gone once its lock is to be had."""
    try:
        note = msgspec.json.decode(content, type=Note)
    except msgspec.DecodeError:
        return False
    is_here = note.locked and note.host == os.uname().nodename
    return note.writer == "scratchflow" and (is_here or age_s > _FOREIGN_AFTER_S)


def _remove(outer: Path) -> None:
    """Removes the note last: without it, nobody would know what a killed removal left."""
    remove_tree(outer / _TREE)
    remove_tree(outer)


def _remove_unbegun(outer: Path, now: float) -> None:
    """Removes a directory whose run was killed before its note was written: nothing else is in it."""
    found = outer.lstat()
    if found.st_uid == os.geteuid() and now - found.st_mtime > _NOTE_AFTER_S:
        if os.listdir(outer) == [_NOTE]:
            (outer / _NOTE).unlink()
        outer.rmdir()
