"""What people and their programs do to a tree. Whatever cannot be done just now is not done."""

from __future__ import annotations

import contextlib
import mmap
import os
import random
import shutil
import stat
import tarfile
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

# Few and small, so that equal names, sizes and times meet again and again.
NAMES = (
    b"a", b"b", b"c", b"d", b"e.o", b"skip", b"-rf", b"two\nlines", b"\xff\xfe", b".tmp-1a2b", b"n" * 255,
)  # fmt: skip
SIZES = (0, 1, 10, 4096, 70_000, 150_000)
# From here on content is varied, so that it is cut into chunks that differ.
_LARGE_BYTES = 64 << 10
# From here on the real program stores files in chunks.
CHUNKED_BYTES = 8 << 20
TIMES_NS = (10**18, 10**18 + 1, 10**18 + 10**9, 1)
MODES = (0o644, 0o600, 0o444, 0o755, 0o000, 0o200)
DIRECTORY_MODES = (0o755, 0o700, 0o555, 0o000, 0o300, 0o400)


HABITS = (
    "create", "create", "make_directory", "append", "rewrite", "rewrite_keeping_mtime", "truncate", "sparse", "map",
    "write_mapped", "rename", "swap", "link", "symlink", "remove", "turn", "chmod", "xattr", "touch", "copy", "unpack",
    "unpack_after_rm", "poke",
)  # fmt: skip
TARGETS = (b"a", b"../b", b"/", b"\xff")


class Change(NamedTuple):
    """One change: what is done, to which of the paths that are there, and with what."""

    do: str
    one: int = 0
    other: int = 0
    name: bytes = b"a"
    fill: int = 65
    size: int = 1


def content(fill: int, size: int) -> bytes:
    """Content of which there are few kinds, but more than one of each size."""
    if size >= _LARGE_BYTES:
        return random.Random(fill).randbytes(size)  # noqa: S311 - the same for each kind
    return bytes([fill]) * size


class Tree:
    """The workspace's directories and files, chosen by number: what a shrunk failure can name."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = os.fsencode(scratch)
        self.mappings: list[mmap.mmap] = []

    def _walk(self, kinds: tuple[str, ...]) -> list[bytes]:
        found: list[bytes] = []
        for root in sorted(os.listdir(self._scratch)):
            if root in {b"work", b"env"}:
                self._collect(os.path.join(self._scratch, root), kinds, found)
        return found

    def _collect(self, path: bytes, kinds: tuple[str, ...], found: list[bytes]) -> None:
        mode = os.lstat(path).st_mode
        kind = "directory" if stat.S_ISDIR(mode) else "link" if stat.S_ISLNK(mode) else "file"
        if kind in kinds:
            found.append(path)
        if kind == "directory":
            with contextlib.suppress(PermissionError):
                for name in sorted(os.listdir(path)):
                    self._collect(os.path.join(path, name), kinds, found)

    def directory(self, number: int) -> bytes:
        """One of the directories, roots included."""
        return _pick(self._walk(("directory",)), number)

    def file(self, number: int) -> bytes:
        """One of the files."""
        return _pick(self._walk(("file",)), number)

    def largest(self) -> bytes:
        """The largest of the files."""
        return max(self._walk(("file",)), key=lambda path: (os.lstat(path).st_size, path))

    def inside(self, number: int) -> bytes:
        """Anything but a root."""
        found = self._walk(("file", "directory", "link"))
        return _pick([path for path in found if not self._is_root(path)], number)

    def _at(self, change: Change) -> bytes:
        return os.path.join(self.directory(change.one), change.name)

    def _is_root(self, path: bytes) -> bool:
        return os.path.dirname(path) == self._scratch

    def apply(self, change: Change) -> None:
        """Does it, as far as the tree allows."""
        with contextlib.suppress(OSError, ValueError):
            getattr(self, change.do)(change)

    # -- one method a habit

    def create(self, change: Change) -> None:
        with open(self._at(change), "wb") as file:
            file.write(content(change.fill, change.size))

    def make_directory(self, change: Change) -> None:
        path = self._at(change)
        if len(path) < 1500:
            os.mkdir(path)

    def append(self, change: Change) -> None:
        with open(self.file(change.one), "ab") as file:
            file.write(content(change.fill, change.size))

    def rewrite(self, change: Change) -> None:
        """Other content of the same size, in place."""
        path = self.file(change.one)
        with open(path, "r+b") as file:
            file.write(content(change.fill, os.stat(path).st_size))

    def poke(self, change: Change) -> None:
        """A few bytes somewhere in the largest file, as a database writes them."""
        path = self.largest()
        size = os.stat(path).st_size
        with open(path, "r+b") as file:
            file.seek(size * change.one // 41)
            file.write(bytes([change.fill]) * min(1000, size - file.tell()))

    def change_large(self, change: Change) -> None:
        """A file that the real program stores in chunks; when there is one, a little of it changes."""
        with contextlib.suppress(ValueError):  # there may be no file
            if os.stat(self.largest()).st_size >= CHUNKED_BYTES:
                self.poke(change)
                return
        with open(self._at(change), "wb") as file:
            file.write(content(change.fill, CHUNKED_BYTES + change.size))

    def rewrite_keeping_mtime(self, change: Change) -> None:
        path = self.file(change.one)
        stamp = os.stat(path).st_mtime_ns
        self.rewrite(change)
        os.utime(path, ns=(stamp, stamp))

    def truncate(self, change: Change) -> None:
        os.truncate(self.file(change.one), change.size)

    def sparse(self, change: Change) -> None:
        with open(self._at(change), "wb") as file:
            file.truncate(300_000)
            file.seek(200_000)
            file.write(content(change.fill, 10))

    def map(self, change: Change) -> None:
        """A shared mapping that stays open."""
        with open(self.file(change.one), "r+b") as file:
            self.mappings.append(mmap.mmap(file.fileno(), 0))

    def write_mapped(self, change: Change) -> None:
        if not self.mappings:
            self.map(change)
        mapping = self.mappings[change.one % len(self.mappings)]
        if mapping.size():  # touching a page of a file that was emptied ends the process
            mapping[0] = change.fill

    def rename(self, change: Change) -> None:
        os.rename(self.inside(change.other), self._at(change))

    def swap(self, change: Change) -> None:
        first, second = self.file(change.one), self.file(change.other)
        aside = first + b"~"
        os.rename(first, aside)
        os.rename(second, first)
        os.rename(aside, second)

    def link(self, change: Change) -> None:
        os.link(self.file(change.other), self._at(change))

    def symlink(self, change: Change) -> None:
        os.symlink(TARGETS[change.other % len(TARGETS)], self._at(change))

    def remove(self, change: Change) -> None:
        _remove(self.inside(change.one))

    def turn(self, change: Change) -> None:
        """A directory becomes a file, a file becomes a directory."""
        path = self.inside(change.one)
        was_directory = os.path.isdir(path)
        _remove(path)
        if was_directory:
            with open(path, "wb") as file:
                file.write(content(change.fill, change.size))
        else:
            os.mkdir(path)

    def chmod(self, change: Change) -> None:
        path = self.inside(change.one)
        if not os.path.islink(path):
            modes = DIRECTORY_MODES if os.path.isdir(path) else MODES
            os.chmod(path, modes[change.other % len(modes)])

    def xattr(self, change: Change) -> None:
        path = self.file(change.one)
        if change.other % 3:
            os.setxattr(path, "user.oracle", b"%d" % change.other)
        else:
            os.removexattr(path, "user.oracle")

    def touch(self, change: Change) -> None:
        stamp = TIMES_NS[change.other % len(TIMES_NS)]
        os.utime(self.inside(change.one), ns=(stamp, stamp), follow_symlinks=False)

    def copy(self, change: Change) -> None:
        """`cp -p`."""
        target = self._at(change)
        if not os.path.isdir(target):
            shutil.copy2(self.file(change.other), target, follow_symlinks=False)

    def unpack(self, change: Change) -> None:
        """Five files of one size and one mtime, as a tarball brings them."""
        directory = self.directory(change.other)
        packed = BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for number in range(5):
                info = tarfile.TarInfo(f"t{change.one % 10 + number}")
                info.size, info.mtime = change.size, 10**9
                tar.addfile(info, BytesIO(content(change.fill + number, change.size)))
        packed.seek(0)
        with tarfile.open(fileobj=packed) as tar:
            for info in tar.getmembers():
                _unpack_one(tar, info, directory)

    def unpack_after_rm(self, change: Change) -> None:
        """`rm -f *` first: the inodes are used again."""
        directory = self.directory(change.other)
        for name in os.listdir(directory):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(directory, name))
        self.unpack(change)

    def ignore(self, lines: bytes) -> None:
        """A `.scratchignore` in the workspace; none when there are no lines."""
        with contextlib.suppress(OSError):
            path = os.path.join(self._scratch, b"work", b".scratchignore")
            if lines:
                with open(path, "wb") as file:
                    file.write(lines)
            else:
                os.unlink(path)

    def close(self) -> None:
        for mapping in self.mappings:
            mapping.close()
        self.mappings.clear()


def _unpack_one(tar: tarfile.TarFile, info: tarfile.TarInfo, directory: bytes) -> None:
    source = tar.extractfile(info)
    path = os.path.join(directory, os.fsencode(info.name))
    if source is None or os.path.isdir(path):
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    with open(path, "wb") as file:
        file.write(source.read())
    os.utime(path, (info.mtime, info.mtime))


def _pick(found: list[bytes], number: int) -> bytes:
    if not found:
        raise FileNotFoundError("there is none")
    return found[number % len(found)]


def _remove(path: bytes) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
