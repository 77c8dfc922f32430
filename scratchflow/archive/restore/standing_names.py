"""What lies on disk as the index has it: it need not be restored, and restored names of the same file are linked to it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from scratchflow.archive.files.digest import digest_of_file, read_buffer
from scratchflow.archive.files.handles import DirectoryHandles
from scratchflow.archive.files.xattrs import read_xattrs
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import DIRECTORY, FILE_PERMISSIONS, REGULAR, SYMLINK

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def standing_names(index: Index, chosen: bytearray, handles: DirectoryHandles) -> dict[int, int]:
    """One such name of each file that some names are chosen of, by the file's first entry.

    Content counts as equal only when it was read and its digest is right.
    """
    found: dict[int, int] = {}
    for first, others in _partly_chosen(index, chosen):
        standing = next((one for one in others if _is_as_listed(index, one, handles)), None)
        if standing is not None:
            found[first] = standing
    return found


def all_stand(index: Index, chosen: bytearray, scratch: Path) -> bool:
    """Whether restoring the chosen entries would change nothing; content is read only when all else is equal.

    Directories that are there stay as they are, whatever the index says of them.
    """
    files, linked = index.of_kind(REGULAR, chosen), {*index.hardlinks, *index.hardlinks.values()}
    with DirectoryHandles(index, os.fsencode(scratch)) as handles:
        return (
            all(_is_directory(index, one, handles) for one in index.of_kind(DIRECTORY, chosen))
            and all(_is_same_link(index, one, handles) for one in index.of_kind(SYMLINK, chosen))
            and all(_may_be_same(index, one, handles, is_linked=one in linked) for one in files)
            and all(_is_as_listed(index, one, handles) for one in files)
        )


def _is_directory(index: Index, entry: int, handles: DirectoryHandles) -> bool:
    found = _status(index, entry, handles)
    return found is not None and stat.S_ISDIR(found.st_mode)


def _is_same_link(index: Index, entry: int, handles: DirectoryHandles) -> bool:
    found = _status(index, entry, handles)
    if found is None or not stat.S_ISLNK(found.st_mode):
        return False
    try:
        directory = handles.get(index.group_of(entry))
        target = os.readlink(index.names[entry], dir_fd=directory)
    except OSError:  # something else lies there by now
        return False
    return (target, found.st_mtime_ns) == (index.target(entry), index.mtime_ns[entry])


def _may_be_same(index: Index, entry: int, handles: DirectoryHandles, *, is_linked: bool) -> bool:
    """By size, time and links alone, before anything is read."""
    found = _status(index, entry, handles)
    if found is None or not stat.S_ISREG(found.st_mode):
        return False
    first = index.hardlinks.get(entry)
    if first is not None and not are_one_file(index, entry, first, handles):
        return False
    listed = index.size[entry], index.mtime_ns[entry]
    return (found.st_size, found.st_mtime_ns) == listed and (is_linked or found.st_nlink == 1)


def are_one_file(index: Index, entry: int, other: int, handles: DirectoryHandles) -> bool:
    """Whether two names lead to the same file on disk."""
    ours, theirs = (_status(index, one, handles) for one in (entry, other))
    return ours is not None and theirs is not None and os.path.samestat(ours, theirs)


def _partly_chosen(index: Index, chosen: bytearray) -> Iterator[tuple[int, list[int]]]:
    """The first entry of each file of which some names are chosen, and the names that are not."""
    names: dict[int, list[int]] = {}
    for entry, first in index.hardlinks.items():
        names.setdefault(first, [first]).append(entry)
    for first, every in names.items():
        others = [one for one in every if not chosen[one]]
        if 0 < len(others) < len(every):
            yield first, others


def _status(index: Index, entry: int, handles: DirectoryHandles) -> os.stat_result | None:
    try:
        directory = handles.get(index.group_of(entry))
        return os.stat(index.names[entry], dir_fd=directory, follow_symlinks=False)
    except OSError:
        return None


def _is_as_listed(index: Index, entry: int, handles: DirectoryHandles) -> bool:
    """Whether content, mode, time and attributes are those of the index. What cannot be read is not."""
    try:
        directory = handles.get(index.group_of(entry))
        descriptor = os.open(index.names[entry], _FLAGS, dir_fd=directory)
    except OSError:
        return False
    try:
        return _looks_as_listed(index, entry, descriptor) and _holds_the_same(
            index, entry, descriptor
        )
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _looks_as_listed(index: Index, entry: int, descriptor: int) -> bool:
    found = os.fstat(descriptor)
    seen = (
        stat.S_IFMT(found.st_mode),
        found.st_mode & FILE_PERMISSIONS,
        found.st_size,
        found.st_mtime_ns,
    )
    mode = index.mode[entry]
    listed = stat.S_IFREG, mode & FILE_PERMISSIONS, index.size[entry], index.mtime_ns[entry]
    first = index.hardlinks.get(entry, entry)
    return seen == listed and read_xattrs(descriptor) == index.xattrs.get(first, {})


def _holds_the_same(index: Index, entry: int, descriptor: int) -> bool:
    first = index.hardlinks.get(entry, entry)
    return digest_of_file(descriptor, index.seed, read_buffer()) == index.digest_of(first)
