"""A home that is mounted into the workspace: nothing in it, and nothing behind it, is ours to touch."""

from __future__ import annotations

import os
from pathlib import Path

from tests.oracle.mounting import bind, can_mount, mounts_in, unmount
from tests.oracle.photograph import Photograph, differences, photograph
from tests.oracle.promises import Broken

_FILES = ("key", "letters/first", "letters/old/second")


class Outside:
    """The home, what is mounted of it in scratch, and what lies behind."""

    def __init__(self, home: Path, scratch: Path) -> None:
        self._home = Path(os.path.realpath(home))
        self._scratch = Path(os.path.realpath(scratch))
        self._behind: dict[int, Photograph] = {}
        self._seen = Photograph()

    def mount(self, target: bytes) -> bool:
        """Mounts the home over a directory, or one file of it over a file. False: not there."""
        if os.path.islink(target) or self.photograph().is_covered(self._inside(target)):
            return False
        self._furnish()
        is_directory = os.path.isdir(target)
        behind = photograph(Path(os.fsdecode(target))) if is_directory else Photograph()
        if behind.linked:  # such a file may rightly change under its other name
            return False
        known = {one.number for one in mounts_in(self._scratch)}
        bind(os.fsencode(self._home if is_directory else self._home / "key"), target)
        for one in mounts_in(self._scratch):
            if one.number not in known:
                self._behind[one.number] = behind
        return True

    def unmount(self, number: int) -> None:
        """Takes one of the mounts away; what was there before is there again."""
        mounts = mounts_in(self._scratch)
        if not mounts:
            return
        chosen = mounts[number % len(mounts)]
        unmount(chosen.point)
        behind, point = self._behind.pop(chosen.number), Path(os.fsdecode(chosen.point))
        if not point.is_dir():
            return
        found = photograph(point, self._points(point))
        result = differences(behind, found, set())
        if result:
            raise Broken(f"behind the mount at {chosen.point!r}: {'; '.join(result)}")

    def photograph(self) -> Photograph:
        """Everything in scratch, without what is mounted there."""
        return photograph(self._scratch, self._points(self._scratch))

    def look(self) -> None:
        """Remembers what is in the home, before a command."""
        if can_mount() and self._home.is_dir():
            self._seen = photograph(self._home)

    def require_same(self) -> None:
        """No command changes anything in the home."""
        if can_mount() and self._home.is_dir():
            result = differences(self._seen, photograph(self._home), set())
            if result:
                raise Broken(f"a command changed the mounted home: {'; '.join(result)}")

    def clear(self) -> None:
        """Also mounts that others hid."""
        while can_mount() and (mounts := mounts_in(self._scratch)):
            for one in mounts:
                self._open_above(one.point)
                unmount(one.point)

    def _open_above(self, point: bytes) -> None:
        """A change may have closed a directory that the mount lies beneath."""
        path = os.fsencode(self._scratch)
        for name in point.removeprefix(path + b"/").split(b"/"):
            os.chmod(path, 0o700)
            path = os.path.join(path, name)

    def _points(self, top: Path) -> set[bytes]:
        above = os.fsencode(top) + b"/"
        mounts = mounts_in(self._scratch) if can_mount() else []
        return {one.point.removeprefix(above) for one in mounts if one.point.startswith(above)}

    def _inside(self, path: bytes) -> bytes:
        return os.path.realpath(path).removeprefix(os.fsencode(self._scratch) + b"/")

    def _furnish(self) -> None:
        for name in _FILES:
            file = self._home / name
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"{name}, which is nowhere else")
