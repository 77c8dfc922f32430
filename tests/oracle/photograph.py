"""What a tree looks like from outside, read by nobody else's code: the yardstick of the oracle."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

Kind = Literal["file", "directory", "link", "mount"]
STATE = b".scratchflow"
IGNORE_FILE = b".scratchignore"


@dataclass(frozen=True)
class Node:
    """One path: everything about it that a snapshot promises to bring back."""

    kind: Kind
    mode: int = 0
    mtime_ns: int = 0
    digest: str = ""
    target: bytes = b""
    xattrs: tuple[tuple[str, bytes], ...] = ()
    names: tuple[bytes, ...] = ()  # every name of the file, where it has more than one

    def timeless(self) -> Node:
        """The same without what a directory's mtime says: that alone makes no new snapshot."""
        return replace(self, mtime_ns=0) if self.kind == "directory" else self


@dataclass
class Photograph:
    """Every path beneath a directory, by its name from there down."""

    nodes: dict[bytes, Node] = field(default_factory=dict)
    # Paths that an ordinary backup cannot read, or cannot reach.
    unreadable: set[bytes] = field(default_factory=set)
    ignored: dict[bytes, bytes] = field(default_factory=dict)  # `.scratchignore` by root
    mounts: set[bytes] = field(
        default_factory=set
    )  # where something is mounted, which is not looked at
    linked: bool = False  # whether a file has a further name, here or elsewhere

    @property
    def digests(self) -> set[str]:
        """Every content in it."""
        return {node.digest for node in self.nodes.values() if node.kind == "file"}

    def is_covered(self, path: bytes) -> bool:
        """Whether something is mounted over this path, or above it."""
        return any(path == point or path.startswith(point + b"/") for point in self.mounts)

    def only(self, wanted: set[bytes]) -> Photograph:
        """These paths alone; what is a further name of a file follows from them."""
        kept = {path: node for path, node in self.nodes.items() if path in wanted}
        for path, node in kept.items():
            names = tuple(name for name in node.names if name in wanted)
            kept[path] = replace(node, names=names if len(names) > 1 else ())
        return Photograph(kept, self.unreadable & wanted)


def photograph(top: Path, mounts: Collection[bytes] = ()) -> Photograph:
    """Looks at everything beneath, also at what its owner made unreadable, but not into `mounts`."""
    taken = Photograph(mounts=set(mounts))
    inodes: dict[tuple[int, int], list[bytes]] = defaultdict(list)
    with _opened(os.fsencode(top), os.lstat(top), 0o500):
        _look(os.fsencode(top), b"", taken, inodes, readable=True)
    for path, node in taken.nodes.items():
        root, _, inside = path.partition(b"/")
        if inside == IGNORE_FILE and _has_rules(top / os.fsdecode(path), node):
            taken.ignored[root] = (top / os.fsdecode(path)).read_bytes()
    for names in inodes.values():
        for name in names if len(names) > 1 else ():
            taken.nodes[name] = replace(taken.nodes[name], names=tuple(sorted(names)))
    return taken


def _has_rules(file: Path, node: Node) -> bool:
    """A file that can be read; the rules of one that is mounted there count as well."""
    return node.kind in {"file", "mount"} and file.is_file() and os.access(file, os.R_OK)


def _look(
    top: bytes,
    inside: bytes,
    taken: Photograph,
    inodes: dict[tuple[int, int], list[bytes]],
    *,
    readable: bool,
) -> None:
    directory = os.path.join(top, inside)
    for name in sorted(os.listdir(directory)):
        path = os.path.join(inside, name)
        if path == STATE:
            continue
        if path in taken.mounts:
            taken.nodes[path] = Node("mount")
            taken.unreadable.add(path)
            continue
        full = os.path.join(directory, name)
        found = os.lstat(full)
        mode = stat.S_IMODE(found.st_mode)
        if stat.S_ISLNK(found.st_mode):
            target = os.readlink(full)
            taken.nodes[path] = Node("link", mtime_ns=found.st_mtime_ns, target=target)
        elif stat.S_ISDIR(found.st_mode):
            taken.nodes[path] = Node("directory", mode, found.st_mtime_ns)
            with _opened(full, found, 0o500):
                may_enter = readable and mode & 0o500 == 0o500
                _look(top, path, taken, inodes, readable=may_enter)
        else:
            inodes[found.st_dev, found.st_ino].append(path)
            taken.linked = taken.linked or found.st_nlink > 1
            with _opened(full, found, 0o400):
                taken.nodes[path] = _file(full, found)
            readable_file = readable and mode & 0o400
            if not readable_file:
                taken.unreadable.add(path)
        if not readable:
            taken.unreadable.add(path)


def _file(full: bytes, found: os.stat_result) -> Node:
    descriptor = os.open(full, os.O_RDONLY | os.O_NOFOLLOW)
    with open(descriptor, "rb") as file:
        digest = hashlib.file_digest(file, "sha1") if hasattr(hashlib, "file_digest") else None
        if digest is None:  # Python 3.10
            digest = hashlib.sha1(file.read())  # noqa: S324 - tells contents apart
    names = [name for name in os.listxattr(full) if name.startswith("user.")]
    xattrs = tuple((name, os.getxattr(full, name)) for name in sorted(names))
    mode = stat.S_IMODE(found.st_mode)
    return Node("file", mode, found.st_mtime_ns, digest.hexdigest(), xattrs=xattrs)


@contextmanager
def _opened(full: bytes, found: os.stat_result, needed: int) -> Iterator[None]:
    """The owner may always change the mode; it is put back at once. Root reads without that."""
    mode = stat.S_IMODE(found.st_mode)
    if mode & needed == needed or os.geteuid() == 0:
        yield
        return
    os.chmod(full, mode | needed)
    try:
        yield
    finally:
        os.chmod(full, mode)


def differences(wanted: Photograph, found: Photograph, optional: set[bytes]) -> list[str]:
    """Where two photographs differ, in words; optional paths may be missing, and nothing else."""
    result: list[str] = []
    for path in sorted(wanted.nodes.keys() | found.nodes.keys()):
        before, after = wanted.nodes.get(path), found.nodes.get(path)
        if before == after or (after is None and path in optional):
            continue
        result.append(f"{path!r}: {_words(before, after)}")
    return result


def _words(before: Node | None, after: Node | None) -> str:
    if before is None or after is None:
        return "is missing" if after is None else f"should not be there ({after.kind})"
    fields = ("kind", "mode", "mtime_ns", "digest", "target", "xattrs", "names")
    return ", ".join(
        f"{name} is {getattr(after, name)!r} instead of {getattr(before, name)!r}"
        for name in fields
        if getattr(before, name) != getattr(after, name)
    )
