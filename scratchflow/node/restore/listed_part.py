"""What a directory would become by a part of a snapshot, from the snapshot's index alone: no archive is read.

The list travels to the machine that has the directory; the digests are those of the index, so its seed goes along.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import msgspec

from scratchflow.archive.files.digest import digest_of_file, read_buffer
from scratchflow.archive.read.selection import Selection
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import KIND_MASK, SYMLINK
from scratchflow.disk.durable import is_there
from scratchflow.model.text import counted
from scratchflow.node.progress import Notifier
from scratchflow.node.restore.beside import Beside, PutBeside, target_differs
from scratchflow.node.restore.taken_home import TakenHome

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Listed(msgspec.Struct, frozen=True, array_like=True):
    """One path of a part, from scratch down."""

    path: bytes
    kind: int  # as in `st_mode`
    size: int
    digest: bytes
    target: bytes = b""


class ListedPart(msgspec.Struct, frozen=True):
    """Every path of a part, a directory before what is in it."""

    seed: int
    entries: list[Listed]

    def encoded(self) -> bytes:
        """As it travels."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def decoded(cls, content: bytes) -> ListedPart:
        """As it came."""
        return msgspec.msgpack.decode(content, type=cls)


def listed_part(index: Index, select: Selection | None) -> ListedPart:
    """The part as the index has it."""
    chosen = select.entries if select else bytearray(b"\1") * len(index)
    entries = [
        _listed(index, entry, prefix)
        for group, prefix in index.groups()
        for entry in range(index.first[group], index.first[group + 1])
        if chosen[entry]
    ]
    return ListedPart(index.seed, entries)


def _listed(index: Index, entry: int, prefix: bytes) -> Listed:
    kind = index.mode[entry] & KIND_MASK
    return Listed(
        path=prefix + index.names[entry],
        kind=kind,
        size=index.size[entry],
        digest=index.digest_of(index.hardlinks.get(entry, entry)),
        target=index.target(entry) if kind == SYMLINK else b"",
    )


def would_put_beside(part: ListedPart, where: Beside, notify: Notifier) -> PutBeside:
    """What `put_beside` would do now; TargetDiffers where it would refuse."""
    target = where.target
    if is_there(target) and not target.is_dir():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    tried = _Tried(target, part.seed)
    for name, one in _without_workspace(part.entries, where.workspace):
        tried.add(name, one)
    if tried.differing and not where.replace:
        raise target_differs(target, tried.differing)
    if tried.differing:
        kept = counted(len(tried.differing), "path")
        differ = "differs" if len(tried.differing) == 1 else "differ"
        notify.remark(f"would keep {kept} that {differ}, as `NAME.before-{where.aside_id}`")
    return PutBeside(tried.files, tried.size_bytes, is_news=tried.is_news)


def _without_workspace(entries: list[Listed], workspace: str) -> list[tuple[str, Listed]]:
    """Each with its name beneath the target, where the workspace's own name is left out if nothing else was chosen."""
    top = os.fsencode(workspace)
    parts = top.split(b"/")
    above = {b"/".join(parts[: count + 1]) for count in range(len(parts))}  # and itself
    is_alone = all(
        one.path.startswith(top + b"/") or (one.path in above and stat.S_ISDIR(one.kind))
        for one in entries
    )
    if not is_alone or all(one.path != top for one in entries):
        return [(os.fsdecode(one.path), one) for one in entries]
    inside = (one for one in entries if one.path not in above)
    return [(os.fsdecode(one.path[len(top) + 1 :]), one) for one in inside]


class _Tried:
    """Compares one path after the other with what is in the target."""

    def __init__(self, target: Path, seed: int) -> None:
        self.differing: list[str] = []
        self.files = 0
        self.size_bytes = 0
        self.is_news = False
        self._target = target
        self._seed = seed
        self._buffer = read_buffer()
        self._taken = TakenHome.read(target)
        self._arriving: set[str] = set()  # directories that come as a whole

    def add(self, name: str, one: Listed) -> None:
        if os.path.dirname(name) in self._arriving:
            self._count(name, one)
            return
        there = self._target / name
        if not is_there(there):
            self._count(name, one)
            return
        found = os.lstat(there)
        if stat.S_ISDIR(one.kind) and stat.S_ISDIR(found.st_mode):
            return
        if self._is_same(there, found, one):
            return
        if not (stat.S_ISREG(found.st_mode) and self._taken.is_unchanged(name)):
            self.differing.append(name)
        self._count(name, one)

    def _count(self, name: str, one: Listed) -> None:
        self.is_news = True
        if stat.S_ISDIR(one.kind):
            self._arriving.add(name)
        elif stat.S_ISREG(one.kind):
            self.files += 1
            self.size_bytes += one.size

    def _is_same(self, there: Path, found: os.stat_result, one: Listed) -> bool:
        if stat.S_IFMT(found.st_mode) != one.kind:
            return False
        if stat.S_ISLNK(one.kind):
            return os.fsencode(os.readlink(there)) == one.target
        if not stat.S_ISREG(one.kind) or found.st_size != one.size:
            return False
        try:
            descriptor = os.open(there, _FLAGS)
        except PermissionError:  # as for `put_beside`: it is not known to be equal
            return False
        try:
            return digest_of_file(descriptor, self._seed, self._buffer) == one.digest
        finally:
            os.close(descriptor)
