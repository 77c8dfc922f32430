"""The shape that a scanned tree and an index share: columns over entries, grouped by directory.

Entries lie in groups, one group per directory, sorted by name inside the group. Group 0 is the
scratch directory itself; the groups follow each other depth first, so a directory's entry always
comes before its content. Columns cost about 45 bytes an entry; a list of objects would cost 400.
"""

from __future__ import annotations

import re
import stat
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

import msgspec

from scratchflow.archive.malformed import Malformed
from scratchflow.archive.tree.names import PackedNames

KIND_MASK = 0o170000
DIRECTORY = stat.S_IFDIR
REGULAR = stat.S_IFREG
SYMLINK = stat.S_IFLNK
# What a restore gives back of modes. No set-uid, and none of the two of files: an archive does not know whose rights they gave.
# Of a directory, set-gid and sticky only say who shares it.
FILE_PERMISSIONS = 0o777
DIRECTORY_PERMISSIONS = 0o3777
_KIND_OF_HIGH_BYTE = bytes(high >> 4 for high in range(256))
_MASK_OF_CHOSEN = bytes([0]) + bytes([255]) * 255
_SET_ID_IN_HIGH_BYTE = re.compile(b"[\x84-\x8f]")  # a regular file with 0o4000 or 0o2000
_HIGH_BYTE = 1 if sys.byteorder == "little" else 0


class Counts(msgspec.Struct, frozen=True):
    """What a tree holds; `bytes` are those of its files, each hardlinked file once."""

    files: int
    dirs: int
    links: int
    bytes: int


def is_same_mode(one: int, other: int) -> bool:
    """Whether two entries have the same kind and the same bits, of those that a restore gives back."""
    return one == other or _restored(one) == _restored(other)


def _restored(mode: int) -> int:
    is_directory = mode & KIND_MASK == DIRECTORY
    return mode & (KIND_MASK | (DIRECTORY_PERMISSIONS if is_directory else FILE_PERMISSIONS))


class Tree:
    """Names, modes, sizes and times of every entry, and which directory holds it."""

    def __init__(self) -> None:
        self.names = PackedNames()
        self.mode = array("H")  # st_mode: kind and permission bits
        self.size = array("Q")  # bytes of a regular file; 0 for everything else
        self.mtime_ns = array("q")
        self.children = array("I")  # how many entries each group has
        self.symlinks = array("I")  # entry numbers of the symlinks, ascending
        self.targets = PackedNames()  # their targets, in the same order
        self.hardlinks: dict[int, int] = {}  # entry -> the entry whose file it is another name of
        self.roots: list[str] = []  # what was saved, by name beneath scratch; the workspace first
        # Derived from `mode` and `children` by `connect`.
        self.first = array("I")  # group -> its first entry; one more at the end
        self.entry_of = array("I")  # group -> the entry of its directory (group 0 has none)
        self.dir_entries = array("I")  # entry numbers of the directories, ascending
        self.dir_groups = array("I")  # their groups, in the same order

    def __len__(self) -> int:
        return len(self.mode)

    @property
    def group_count(self) -> int:
        """How many groups there are: the directories, and group 0."""
        return len(self.children)

    def kinds(self) -> bytes:
        """The kind of every entry as one byte: `stat`'s, shifted down by 12 bits."""
        return self.mode.tobytes()[_HIGH_BYTE::2].translate(_KIND_OF_HIGH_BYTE)

    def of_kind(self, kind: int, chosen: bytearray | None = None) -> array[int]:
        """The entries of one kind, ascending; only the chosen ones, if some are marked with 1."""
        kinds = self.kinds()
        if chosen is not None:
            # All bytes at once: a loop over a million entries to find the one that was asked for is slow.
            mask = int.from_bytes(chosen.translate(_MASK_OF_CHOSEN), "big")
            kinds = (int.from_bytes(kinds, "big") & mask).to_bytes(len(kinds), "big")
        pattern = re.escape(bytes([kind >> 12]))
        return array("I", [found.start() for found in re.finditer(pattern, kinds)])

    def files_with_set_id(self) -> Iterator[int]:
        """The regular files that have a set-uid or set-gid bit, ascending."""
        high_bytes = self.mode.tobytes()[_HIGH_BYTE::2]
        return (found.start() for found in _SET_ID_IN_HIGH_BYTE.finditer(high_bytes))

    def counts(self) -> Counts:
        """Files, directories, symlinks and bytes."""
        kinds = self.kinds()
        files, dirs = kinds.count(REGULAR >> 12), kinds.count(DIRECTORY >> 12)
        doubled = sum(self.size[entry] for entry in self.hardlinks)
        return Counts(files, dirs, len(self.symlinks), sum(self.size) - doubled)

    def files_among(self, entries: Sequence[int]) -> tuple[int, int]:
        """How many files there are among some entries, and their bytes; hardlinked ones once.

        No entry is given twice.
        """
        if len(entries) == len(self):
            counts = self.counts()
            return counts.files, counts.bytes
        kinds = bytes(map(self.kinds().__getitem__, entries))
        size_bytes = sum(map(self.size.__getitem__, entries))
        if self.hardlinks:
            doubled = self.hardlinks.keys() & set(entries)
            size_bytes -= sum(map(self.size.__getitem__, doubled))
        return kinds.count(REGULAR >> 12), size_bytes

    def top_names(self) -> list[bytes]:
        """The names at the top: what lies in scratch itself."""
        return self.names.slice(self.first[0], self.first[1])

    def regular_files(self) -> Iterator[int]:
        """The entries of the regular files, hardlinks included."""
        return (entry for entry, mode in enumerate(self.mode) if mode & KIND_MASK == REGULAR)

    def has_shape_of(self, other: Tree) -> bool:
        """Whether both have the same paths, of the same kinds, and the same symlinks."""
        return (
            self.names.blob == other.names.blob
            and self.kinds() == other.kinds()
            and self.children == other.children
            and self.targets.blob == other.targets.blob
        )

    def take_shape_of(self, other: Tree) -> None:
        """Shares the tables of a connected tree that has the same shape: nobody changes them."""
        self.names, self.targets, self.symlinks = other.names, other.targets, other.symlinks
        self.first, self.entry_of = other.first, other.entry_of
        self.dir_entries, self.dir_groups = other.dir_entries, other.dir_groups

    def connect(self) -> None:
        """Derives the directory tables; Malformed says that modes and groups do not agree."""
        self.dir_entries = self.of_kind(DIRECTORY)
        if len(self.dir_entries) + 1 != len(self.children):
            raise Malformed("directories and groups differ in number")
        if sum(self.children) != len(self):
            raise Malformed("the groups do not hold all entries")
        self._walk_groups(self.dir_entries.tolist())

    def _walk_groups(self, dir_entries: list[int]) -> None:
        # Depth first: a group's directories wait on the stack until their own group's turn.
        # Plain lists until the end: this loop is a good part of opening an index.
        dir_groups = [0] * len(dir_entries)
        first, entry_of = [0], []
        waiting = [-1]
        seen = end = 0
        for group, count in enumerate(self.children):
            if not waiting:
                raise Malformed("a group belongs to no directory")
            ordinal = waiting.pop()
            if ordinal >= 0:
                dir_groups[ordinal] = group
                entry_of.append(dir_entries[ordinal])
            else:
                entry_of.append(0)
            if count:
                end += count
                here = bisect_left(dir_entries, end, seen)
                if here != seen:
                    waiting.extend(range(here - 1, seen - 1, -1))
                    seen = here
            first.append(end)
        if waiting:
            raise Malformed("a directory has no group")
        self.first, self.entry_of = array("I", first), array("I", entry_of)
        self.dir_groups = array("I", dir_groups)

    def subdirectories(self, group: int) -> tuple[array[int], array[int]]:
        """Entry numbers and groups of the directories directly inside a group."""
        low = bisect_left(self.dir_entries, self.first[group])
        high = bisect_left(self.dir_entries, self.first[group + 1], low)
        return self.dir_entries[low:high], self.dir_groups[low:high]

    def group_at(self, entry: int) -> int:
        """The group of the directory that this entry is."""
        return self.dir_groups[bisect_left(self.dir_entries, entry)]

    def group_of(self, entry: int) -> int:
        """The group that holds this entry."""
        # The last one that starts at or before the entry: those that are empty start with the next.
        return bisect_right(self.first, entry, 0, len(self.children)) - 1

    def parent_group(self, group: int) -> int:
        """The group that holds the directory of this group."""
        return self.group_of(self.entry_of[group])

    def group_path(self, group: int) -> bytes:
        """The path of a group's directory from scratch down; empty for group 0."""
        parts = []
        while group:
            parts.append(self.names[self.entry_of[group]])
            group = self.parent_group(group)
        return b"/".join(reversed(parts))

    def path(self, entry: int) -> bytes:
        """The path of an entry from scratch down."""
        directory = self.group_path(self.group_of(entry))
        return directory + b"/" + self.names[entry] if directory else self.names[entry]

    def target(self, entry: int) -> bytes:
        """Where a symlink points."""
        return self.targets[bisect_left(self.symlinks, entry)]

    def groups(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        """Every group from one on, with the path prefix of its entries (empty, or ending in `/`)."""
        # (group, prefix), innermost last
        open_directories = self._above(start) if start else [(0, b"")]
        for group in range(start, self.group_count):
            if group:
                parent = self.parent_group(group)
                while open_directories[-1][0] != parent:
                    open_directories.pop()
                prefix = open_directories[-1][1] + self.names[self.entry_of[group]] + b"/"
                open_directories.append((group, prefix))
            yield group, open_directories[-1][1]

    def _above(self, group: int) -> list[tuple[int, bytes]]:
        """The groups that lead to one, each with its prefix."""
        groups = []
        while group:
            group = self.parent_group(group)
            groups.append(group)
        above = [(0, b"")]
        for inside in reversed(groups[:-1]):
            above.append((inside, above[-1][1] + self.names[self.entry_of[inside]] + b"/"))
        return above

    def in_tar_order(
        self, chosen: bytearray, start: int | None = None
    ) -> Iterator[tuple[int, int, bytes, bytes]]:
        """Every chosen entry as (entry, its group, path, name), each directory before its content.

        With `start`, a file, only that one and what follows.

        Right before it, not beside its siblings: tar sets a directory's mtime when it meets the
        first member outside, and would not set it again after filling it later.
        """
        mode, first = self.mode, self.first
        begun = -1 if start is None else self.group_of(start)
        for group, prefix in self.groups(max(begun, 0)):
            if group and group != begun and chosen[self.entry_of[group]]:
                entry = self.entry_of[group]
                yield entry, self.group_of(entry), prefix[:-1], self.names[entry]
            low, end = first[group], first[group + 1]
            if start is not None and group == begun:
                low = start
            if chosen.find(1, low, end) < 0:
                continue
            for entry, name in enumerate(self.names.slice(low, end), low):
                if chosen[entry] and mode[entry] & KIND_MASK != DIRECTORY:
                    yield entry, group, prefix + name, name

    def find(self, path: bytes) -> int | None:
        """The entry at this path, or None."""
        group, entry = 0, None
        for name in path.split(b"/"):
            if entry is not None:
                if self.mode[entry] & KIND_MASK != DIRECTORY:
                    return None
                group = self.group_at(entry)
            entry = self.find_in(group, name)
            if entry is None:
                return None
        return entry

    def find_in(self, group: int, name: bytes) -> int | None:
        """The entry of this name in a group, or None."""
        low, high = self.first[group], self.first[group + 1]
        end = high
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.names[middle] < name else (low, middle)
        return low if low < end and self.names[low] == name else None
