"""Copies of the workspace that jobs have on this node: which run each belongs to, who uses it now, how it is removed."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from scratchflow.disk.private import make_private_directories
from scratchflow.disk.process_lock import lock_now, try_lock
from scratchflow.disk.trees import open_directory, open_tree, remove_tree
from scratchflow.model.job import SAVED_ONCE, JobRecord, TaskRecord
from scratchflow.model.text import printable
from scratchflow.workspace.workspace import STATE_NAME

_MARK = "run.json"
_REMOVED = ".removed-"
_OTHERS_S = 600.0
"""How long another job may take to save a copy that a run of this one has left."""
_LOOK_S = 0.2
_NAME = re.compile(r"(\d{8}T\d{6}Z-[0-9a-f]{6})-(\d+)", re.ASCII)


def task_of_copy(name: str) -> tuple[str, int] | None:
    """The job and the task that a copy of this name belongs to; None for any other name."""
    match = _NAME.fullmatch(name)
    return (match[1], int(match[2])) if match else None


def is_removed_copy(name: str) -> bool:
    """Whether it is what a removal has left: nobody's results any more."""
    return name.startswith(_REMOVED) and _NAME.match(name.removeprefix(_REMOVED)) is not None


class CopyMark(msgspec.Struct, frozen=True):
    """Which run of its task a copy belongs to. Where nodes share a scratch, its path alone does not tell.

    The rest is for the case that the store has lost the record, as by `jobs prune`; earlier versions did not write it.
    """

    node: str
    restarts: int
    store: str = ""
    """Where the workspace's records are: other workspaces may have their copies beside this one."""
    job: JobRecord | None = None
    task: TaskRecord | None = None
    inode: int = 0
    """That of the workspace's directory in the copy: its name the command may change."""


def open_copy(copy: Path) -> None:
    """Lets us into it, whatever the job's command did to the directories that are ours and not the user's."""
    for directory in (copy.parent.parent, copy.parent, copy, copy / STATE_NAME):
        open_directory(directory)


def mark_copy(copy: Path, mark: CopyMark) -> None:
    """Writes it beside the workspace in the copy."""
    file = copy / STATE_NAME / _MARK
    make_private_directories(file.parent)
    file.write_bytes(msgspec.json.encode(mark))


def inode_of(directory: Path) -> int:
    """What stays the same when it gets another name; 0 for what is no directory."""
    try:
        found = os.lstat(directory)
    except OSError:
        return 0
    return found.st_ino if stat.S_ISDIR(found.st_mode) else 0


def put_back(work: Path, inode: int) -> str:
    """Gives the workspace's directory its name again that the command has moved within the copy; why not, if it cannot be.

    It does nothing about one that was removed, or moved out of the copy or with it: nothing of it is here any more.
    """
    if not inode or inode_of(work) == inode or not inode_of(work.parent):
        return ""
    if _leads_to(work, inode):
        return ""
    is_free = not os.path.lexists(work)
    if is_free:
        open_tree(work.parent)
    moved = _moved(work, inode)
    if moved is None:
        return ""
    name = printable(os.path.relpath(moved, work.parent))
    if not is_free:
        return (
            f"{name}: the command was started in it, and has put something else in its place"
            f"{SAVED_ONCE}`{printable(str(work))}` again"
        )
    try:
        os.rename(moved, work)
    except OSError as error:
        return (
            f"{name}: the command was started in it, and it cannot be moved back ({error.strerror})"
        )
    return ""


def _leads_to(work: Path, inode: int) -> bool:
    """Whether it is a link to the very directory, which is then found by its old name."""
    try:
        found = os.stat(work)
    except OSError:
        return False
    return found.st_ino == inode and found.st_dev == os.lstat(work.parent).st_dev


def _moved(work: Path, inode: int) -> Path | None:
    """Where in the copy the directory is now. What has taken its place may have its number in it, when it was removed."""
    copy, own = work.parent, {work.name, STATE_NAME}
    device = os.lstat(copy).st_dev
    for directory, names, _ in os.walk(copy):
        if directory == str(copy):
            names[:] = [name for name in names if name not in own]
        for name in names:
            found = Path(directory, name)
            if inode_of(found) == inode and os.lstat(found).st_dev == device:
                return found
    return None


def begun_ns(copy: Path) -> int:
    """When the copy was complete, and its command could begin; 0 when nobody knows."""
    try:
        return (copy / STATE_NAME / _MARK).stat().st_mtime_ns
    except OSError:
        return 0


def read_mark(copy: Path) -> CopyMark | None:
    """What its run has written; None when nobody can read it."""
    try:
        return msgspec.json.decode((copy / STATE_NAME / _MARK).read_bytes(), type=CopyMark)
    except (OSError, msgspec.DecodeError):
        return None


def take_over_mark(copy: Path, restarts: int) -> None:
    """Marks a copy that an earlier run left as this run's, which has saved what it could of it.

    Who saves the rest puts it where this run has put the first of it. The time of the mark stays: it says when the command began.
    """
    mark = read_mark(copy)
    if mark is None:
        return
    file = copy / STATE_NAME / _MARK
    temp = file.with_name(f"{_MARK}.new")
    with suppress(OSError):  # a full scratch: then all of it is saved once more, in another place
        found = file.stat()
        temp.write_bytes(msgspec.json.encode(msgspec.structs.replace(mark, restarts=restarts)))
        os.utime(temp, ns=(found.st_atime_ns, found.st_mtime_ns))
        os.replace(temp, file)


def remove_copy(copy: Path) -> None:
    """Removes a copy of which all is saved: out of sight first, so that nobody takes what is left of it for results.

    Processes that the job left behind may write into it meanwhile, and another job may find it and remove it, too:
    the next job here removes the rest.
    """
    aside = copy.with_name(f"{_REMOVED}{copy.name}-{os.urandom(4).hex()}")
    os.rename(copy, aside)
    with suppress(OSError):
        remove_tree(aside)


@contextmanager
def in_use(copy: Path) -> Iterator[bool]:
    """Marks a copy as used while inside; False when somebody else uses it, or has removed it meanwhile.

    The mark goes with its process.
    """
    descriptor = os.open(copy, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield lock_now(descriptor) and _is_still(copy, descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def taken_over(copy: Path, within_s: float = _OTHERS_S) -> Iterator[bool]:
    """The same of a copy that an earlier run left, once whoever saves it now is through; False when it is gone then.

    Another job that begins at the same moment may have found it first. TimeoutError when that one does not end.
    """
    descriptor = _take(copy, time.monotonic() + within_s)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _take(copy: Path, until_s: float) -> int | None:
    while True:
        try:
            descriptor = os.open(copy, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:
            return None
        try:
            is_ours = try_lock(descriptor)
        except OSError:  # no locks here: then nobody else saves it either
            return descriptor
        if is_ours and _is_still(copy, descriptor):
            return descriptor
        os.close(descriptor)
        if time.monotonic() > until_s:
            raise TimeoutError(f"another process still uses `{copy}`")
        time.sleep(_LOOK_S)


def _is_still(copy: Path, descriptor: int) -> bool:
    """Whether the directory that was opened still has this name."""
    try:
        return os.path.samestat(os.lstat(copy), os.fstat(descriptor))
    except FileNotFoundError:
        return False
