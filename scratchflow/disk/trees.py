"""Whole directory trees: removed, and moved into place."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from scratchflow.disk.durable import fsync_directory, is_there
from scratchflow.disk.mounts import is_mount_point, mounts_beneath

_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# So many directories inside each other are open at once while a tree is removed.
_MAX_DEPTH = 20


def remove_tree(path: Path) -> None:
    """Removes a tree of our own making, also directories that were made read-only meanwhile.

    OSError (EBUSY), and nothing removed, when something is mounted in it.
    """
    if not is_there(path):
        return
    if is_mount_point(path) or mounts_beneath(path):
        raise OSError(errno.EBUSY, "something is mounted in it", str(path))
    _make_writable(os.fspath(path))
    top = os.open(path, _OPEN_DIRECTORY)
    try:
        while os.listdir(top):  # what was too deep inside lies here by then
            _empty(top, os.fspath(path), top, 0)
    finally:
        os.close(top)
    os.rmdir(path)


def _empty(directory: int, path: str, top: int, depth: int) -> None:
    """Removes what is in an open directory. What is too deep for this is moved to the top.

    No directory is found by its path: that may be longer than the system takes.
    """
    with os.scandir(directory) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_directory in found:
        try:
            if is_directory:
                _remove_directory(name, directory, os.path.join(path, name), top, depth)
            else:
                os.unlink(name, dir_fd=directory)
        except FileNotFoundError:  # somebody else was faster
            continue
        except OSError as error:
            if error.filename == name:
                error.filename = os.path.join(path, name)
            raise


def _remove_directory(name: str, directory: int, path: str, top: int, depth: int) -> None:
    mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        # Where the system knows how, never that of what a link leads to.
        follow = os.chmod not in os.supports_follow_symlinks
        os.chmod(name, stat.S_IMODE(mode) | stat.S_IRWXU, dir_fd=directory, follow_symlinks=follow)
    if depth >= _MAX_DEPTH:
        os.rename(name, f".removed-{os.urandom(8).hex()}", src_dir_fd=directory, dst_dir_fd=top)
        return
    inside = os.open(name, _OPEN_DIRECTORY, dir_fd=directory)
    try:
        _empty(inside, path, top, depth + 1)
    finally:
        os.close(inside)
    os.rmdir(name, dir_fd=directory)


def open_tree(path: Path) -> None:
    """Lets us into every directory of a tree that is ours, so that what lies in it can be read; others' stay as they are.

    Nothing is changed when something is mounted in it: that is no part of the tree.
    """
    if is_mount_point(path) or mounts_beneath(path):
        return
    open_directory(path)
    for directory, names, _ in os.walk(path):
        for name in names:
            open_directory(Path(directory, name))


def open_within(top: Path, names: Iterable[str]) -> None:
    """The same of these directories of a tree alone. A link that leads out of it is not followed."""
    if is_mount_point(top) or mounts_beneath(top):
        return
    real_top = os.path.realpath(top)
    for name in sorted(names):
        real = os.path.realpath(top / name)
        if f"{real}/".startswith(f"{real_top}/"):
            open_directory(Path(real))


def open_directory(path: Path) -> None:
    """The same of one directory; what is none, or not ours, stays as it is."""
    with suppress(FileNotFoundError, PermissionError):
        _make_writable(os.fspath(path))


def rename_new(source: Path, target: Path) -> None:
    """Renames to a name that is free or an empty directory's, durably."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if is_there(target):
        os.rmdir(target)  # fails unless it is an empty directory
    mode = os.lstat(source).st_mode
    # A directory that moves to another parent has to be writable itself: its `..` changes.
    closed = stat.S_ISDIR(mode) and not mode & stat.S_IWUSR
    if closed:
        os.chmod(source, stat.S_IMODE(mode) | stat.S_IWUSR)
    try:
        os.rename(source, target)
    except BaseException:
        if closed:
            os.chmod(source, stat.S_IMODE(mode))
        raise
    if closed:
        os.chmod(target, stat.S_IMODE(mode))
    fsync_directory(target.parent)


def is_empty_or_missing(path: Path) -> bool:
    """Whether nothing would be lost by putting something else there."""
    try:
        with os.scandir(path) as entries:
            return next(entries, None) is None
    except FileNotFoundError:
        return not is_there(path)  # a dangling symlink is something
    except NotADirectoryError:
        return False


def may_hold_something(path: Path) -> bool:
    """Whether something would be lost by replacing it. An unreadable directory counts as not empty."""
    try:
        return not is_empty_or_missing(path)
    except OSError:
        return True


def _make_writable(path: str) -> None:
    mode = os.lstat(path).st_mode
    if stat.S_ISDIR(mode) and mode & 0o700 != 0o700:
        os.chmod(path, stat.S_IMODE(mode) | 0o700)
