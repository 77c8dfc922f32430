"""The same plain tools twice at once, each with half of the tree: about what two cores can do at best.

Nobody would type this: the tree is split by bytes beforehand, for nothing, and nothing is compared or read back.
"""

from __future__ import annotations

import os
from pathlib import Path

_PACK = """
tar -C "$1" --no-recursion --null -cf - -T "$2" | lz4 -q -f - "$3" &
tar -C "$1" --no-recursion --null -cf - -T "$4" | lz4 -q -f - "$5"
wait $!
"""
_UNPACK = """
mkdir "$3/one" "$3/other"
lz4 -dc "$1" | tar -xf - -C "$3/one" &
lz4 -dc "$2" | tar -xf - -C "$3/other"
wait $!
"""
_HEADER_BYTES = 1024  # of a file in a tar stream, about


class Halves:
    """Two archives of half a tree each, in `directory`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def split(self, work: Path) -> None:
        """Lists what goes into each half; hard links whose other names are in the other half are stored twice."""
        paths, sizes = [], []
        for top, directories, files in os.walk(work):
            for name in sorted(files) + [one for one in directories if _is_link(top, one)]:
                path = os.path.join(top, name)
                paths.append(os.path.relpath(path, work.parent))
                sizes.append(os.lstat(path).st_size + _HEADER_BYTES)
        half, so_far, middle = sum(sizes) / 2, 0, 0
        while so_far < half:
            so_far += sizes[middle]
            middle += 1
        for number, names in enumerate((paths[:middle], paths[middle:])):
            self._list(number).write_bytes(b"".join(os.fsencode(name) + b"\0" for name in names))

    def pack_script(self, work: Path) -> tuple[str, ...]:
        """What `shell` is to run: both archives."""
        args = [str(find(number)) for number in range(2) for find in (self._list, self._archive)]
        return (_PACK, str(work.parent), *args)

    def unpack_script(self, target: Path) -> tuple[str, ...]:
        """What `shell` is to run: both archives, each into a directory of its own beneath an empty one."""
        return (_UNPACK, str(self._archive(0)), str(self._archive(1)), str(target))

    def _list(self, number: int) -> Path:
        return self._directory / f"half-{number}.names"

    def _archive(self, number: int) -> Path:
        return self._directory / f"half-{number}.tar.lz4"


def _is_link(top: str, name: str) -> bool:
    return os.path.islink(os.path.join(top, name))
