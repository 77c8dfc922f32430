"""What a walk found in some directories, column by column."""

from __future__ import annotations

import os
from array import array
from typing import Any

from scratchflow.archive.files.limits import refuse_own_limit
from scratchflow.archive.tree.names import PackedNames
from scratchflow.archive.tree.tree import KIND_MASK, REGULAR

_TIME_LIMIT_NS = (1 << 63) - 1
_AT_ONCE = 1000


class Part:
    """What was found in some directories: the columns of a tree, without its tables."""

    COLUMNS = ("mode", "size", "mtime_ns", "ctime_ns", "inode", "children")

    def __init__(self) -> None:
        self.names = PackedNames()
        self.mode = array("H")
        self.size = array("Q")
        self.mtime_ns = array("q")
        self.ctime_ns = array("q")
        self.inode = array("Q")
        self.children = array("I")
        self.symlinks = array("I")  # entries of this part, as in the next two
        self.targets = PackedNames()
        self.linked: list[tuple[int, int, int]] = []  # (entry, device, inode) of hardlinked files
        self.warnings: list[tuple[str, bytes, str]] = []
        self._names: list[bytes] = []  # not in the columns yet
        self._found: list[os.stat_result] = []

    def __len__(self) -> int:
        return len(self.mode) + len(self._found)

    def add_group(self, names: list[bytes], found: list[os.stat_result]) -> None:
        """Appends what is in one directory. The columns are filled for many of them at once."""
        self.children.append(len(found))
        self._names += names
        self._found += found
        if len(self._found) >= _AT_ONCE:
            self.settle()

    def settle(self) -> None:
        """Fills the columns."""
        found, names = self._found, self._names
        self._found, self._names = [], []
        if not found:
            return
        # The fields of all stat results, transposed at once: reading them one by one takes longer.
        modes, inodes, _, _, _, _, sizes, _, _, _ = zip(*found, strict=True)
        sized = zip(sizes, modes, strict=True)
        self.names.extend(names)
        self.mode.extend(modes)
        self.size.extend([size if mode & KIND_MASK == REGULAR else 0 for size, mode in sized])
        self.inode.extend(inodes)
        self.mtime_ns += _time_column([stats.st_mtime_ns for stats in found])
        self.ctime_ns += _time_column([stats.st_ctime_ns for stats in found])

    def dumped(self) -> list[object]:
        """The part as values that `marshal` takes."""
        columns = [getattr(self, name).tobytes() for name in (*self.COLUMNS, "symlinks")]
        names = [bytes(packed.blob) for packed in (self.names, self.targets)]
        return [*names, self.linked, self.warnings, *columns]

    @classmethod
    def loaded(cls, values: list[Any]) -> Part:
        """The part that was dumped."""
        part = cls()
        names, targets, part.linked, part.warnings, *columns = values
        for name, content in zip((*cls.COLUMNS, "symlinks"), columns, strict=True):
            getattr(part, name).frombytes(content)
        part.names = PackedNames.from_blob(names, len(part.mode))
        part.targets = PackedNames.from_blob(targets, len(part.symlinks))
        return part

    def warn_unreadable(self, path: bytes, error: OSError) -> None:
        """Notes what could not be read; what is gone was never there."""
        refuse_own_limit(error)
        if not isinstance(error, FileNotFoundError):
            self.warnings.append(("files.unreadable", path, f"cannot be read: {error.strerror}"))


def _time_column(times_ns: list[int]) -> array[int]:
    try:
        return array("q", times_ns)
    except OverflowError:
        return array("q", map(clamped_ns, times_ns))


def clamped_ns(time_ns: int) -> int:
    """A time as the columns hold it: years 1677 to 2262, further ones at the edge."""
    return max(-_TIME_LIMIT_NS, min(time_ns, _TIME_LIMIT_NS))
