"""Members in the order of some tar stream, put into the order of an index."""

from __future__ import annotations

from array import array

import msgspec

from scratchflow.archive.format.index_check import MAX_NAME_BYTES, MAX_TARGET_BYTES
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.tree.chunks import Chunks
from scratchflow.archive.tree.index import NO_DIGEST, NOWHERE, Index
from scratchflow.archive.tree.tree import DIRECTORY, KIND_MASK, REGULAR, SYMLINK

MAX_MEMBERS = 1 << 24
MAX_PATH_BYTES = 1 << 16


class UnsafePath(Malformed):
    """A member that could write outside its target: `args` are the reason and the name."""


class Stored(msgspec.Struct):
    """What an index holds about one entry."""

    mode: int
    mtime_ns: int
    size: int = 0
    position: int | None = None
    digest: bytes = NO_DIGEST
    target: bytes = b""
    extents: list[int] | None = None
    xattrs: dict[bytes, bytes] = msgspec.field(default_factory=dict)
    first: Stored | None = None  # of a hardlink: the file it is another name of
    chunks: Chunks | None = None
    number: int = -1


class _Directory(msgspec.Struct):
    stored: Stored
    inside: dict[bytes, Stored | _Directory] = msgspec.field(default_factory=dict)


def safe_path(name: bytes) -> bytes:
    """The name without `.` and doubled slashes; UnsafePath if it leads anywhere but downward."""
    if b"\0" in name or name.startswith(b"/"):
        raise UnsafePath("it is absolute, or no name at all", name)
    if len(name) > MAX_PATH_BYTES:
        raise UnsafePath("it is longer than any path", name[:80])
    parts = [part for part in name.split(b"/") if part not in {b"", b"."}]
    if b".." in parts:
        raise UnsafePath("it leads upward", name)
    if any(len(part) > MAX_NAME_BYTES for part in parts):
        raise UnsafePath("it is longer than a file system allows", name[:80])
    return b"/".join(parts)


class MemberTree:
    """Collects members. What comes later wins, but nothing may be both a directory and not one.

    A file that became a link, or a link that became a file, is normal in an archive that was
    appended to. Only the last state is ever written, so no link is followed.
    """

    def __init__(self) -> None:
        self._root = _Directory(_implied_directory())
        self._members = 0

    def add(self, path: bytes, stored: Stored) -> None:
        """Adds a file, directory or symlink."""
        kind = stored.mode & KIND_MASK
        if kind == SYMLINK and not 0 < len(stored.target) <= MAX_TARGET_BYTES:
            raise UnsafePath("it is a symlink to nothing", path)
        above, name = self._above(path)
        existing = above.inside.get(name)
        if kind == DIRECTORY:
            if existing is None:
                above.inside[name] = _Directory(stored)
            elif isinstance(existing, _Directory):
                existing.stored = stored
            else:
                raise UnsafePath("it is two different things at once", path)
            return
        if isinstance(existing, _Directory):
            raise UnsafePath("it is two different things at once", path)
        above.inside[name] = stored

    def add_link(self, path: bytes, target: bytes) -> None:
        """Adds another name for a file that came before."""
        above, name = self._above(target)
        first = above.inside.get(name)
        if first is None or isinstance(first, _Directory) or first.mode & KIND_MASK != REGULAR:
            raise UnsafePath("it is a hardlink to something that is no file of this archive", path)
        first = first.first or first
        above, name = self._above(path)
        existing = above.inside.get(name)
        if existing is first:
            return
        if isinstance(existing, _Directory):
            raise UnsafePath("it is two different things at once", path)
        above.inside[name] = Stored(first.mode, first.mtime_ns, first.size, first=first)

    def _above(self, path: bytes) -> tuple[_Directory, bytes]:
        self._members += 1
        if self._members > 2 * MAX_MEMBERS:
            raise Malformed("it has more members than can be")
        *parents, name = path.split(b"/")
        directory = self._root
        for part in parents:
            inside = directory.inside.setdefault(part, _Directory(_implied_directory()))
            if not isinstance(inside, _Directory):
                raise UnsafePath("it lies beneath something that is no directory", path)
            directory = inside
        return directory, name

    def to_index(self, archive_id: str) -> Index:
        """The index columns, in order; archives and seed are for the caller to fill in."""
        index = Index(archive_id)
        index.digest = bytearray()
        waiting = [self._root]
        hardlinks: list[Stored] = []
        while waiting:
            directory = waiting.pop()
            entries = sorted(directory.inside.items())
            index.children.append(len(entries))
            below = []
            for name, inside in entries:
                if isinstance(inside, _Directory):
                    below.append(inside)
                    _append(index, name, inside.stored)
                else:
                    _append(index, name, inside)
                    if inside.first:
                        hardlinks.append(inside)
            waiting.extend(reversed(below))
        for stored in hardlinks:
            _link(index, stored)
        index.symlinks = index.of_kind(SYMLINK)
        index.flags = array("B", bytes(len(index)))
        index.connect()
        return index


def _implied_directory() -> Stored:
    return Stored(mode=DIRECTORY | 0o755, mtime_ns=0)


def _append(index: Index, name: bytes, stored: Stored) -> None:
    stored.number = len(index)
    index.names.append(name)
    index.mode.append(stored.mode)
    index.size.append(stored.size)
    index.mtime_ns.append(stored.mtime_ns)
    index.archive.append(NOWHERE if stored.position is None else 0)
    index.position.append(stored.position or 0)
    index.digest += stored.digest
    if stored.mode & KIND_MASK == SYMLINK:
        index.targets.append(stored.target)
    if stored.extents is not None:
        index.sparse[stored.number] = stored.extents
    if stored.xattrs:
        index.xattrs[stored.number] = stored.xattrs
    if stored.chunks is not None:
        index.chunks[stored.number] = stored.chunks


def _link(index: Index, stored: Stored) -> None:
    """Gives another name the place of the file; a file that was replaced later lends its own."""
    first, entry = stored.first, stored.number
    assert first is not None  # noqa: S101 - only hardlinks come here
    index.archive[entry] = 0
    index.position[entry] = first.position or 0
    start = entry * len(first.digest)
    index.digest[start : start + len(first.digest)] = first.digest  # type: ignore[index]
    if first.extents is not None:
        index.sparse[entry] = first.extents
    if first.xattrs:
        index.xattrs[entry] = first.xattrs
    if first.chunks is not None:
        index.chunks[entry] = first.chunks
    if first.number >= 0:
        index.hardlinks[entry] = first.number
