"""What the patterns of a job match in its copy of the workspace, and what there cannot be looked into or saved."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from scratchflow.node.job.copying import Stamp, stamp_of
from scratchflow.workspace.workspace import STATE_NAME

DEFAULT_PATTERN = "outputs"


class Matches:
    """The patterns in one copy; what it says besides files is of the last look."""

    def __init__(self, top: Path, patterns: Sequence[str], began_ns: int) -> None:
        """`began_ns`: when the command began, by the clock of files."""
        self._top, self._began_ns = top, began_ns
        self._patterns = [*dict.fromkeys([DEFAULT_PATTERN, *patterns])]
        self.closed: dict[str, str] = {}
        """Directories that cannot be listed, with the reason."""
        self.left_out: dict[str, str] = {}
        """What has no content, with its kind, and links of which not all that is behind them is saved."""
        self.links_out: dict[str, str] = {}
        """Where links out of the copy lead."""
        self.unmatched: list[str] = []
        """Patterns of the user's that match nothing."""

    def found(self) -> Iterator[tuple[str, Stamp, Path]]:
        """Each file and link, once, and where it is read; of a link into the copy the files behind it, if they are new."""
        seen: set[str] = set()
        self.closed, self.left_out, self.links_out = {}, {}, {}
        for pattern in self._patterns:
            self._look_for_closed(pattern.strip("/").split("/"))
        by_pattern = {pattern: sorted(self._matched(pattern)) for pattern in self._patterns}
        self.unmatched = [
            pattern
            for pattern, found in by_pattern.items()
            if not found and pattern.rpartition("/")[2] != DEFAULT_PATTERN
        ]
        matches = [match for found in by_pattern.values() for match in found]
        roots = [os.path.realpath(match) for match in matches if not os.path.islink(match)]
        for match in matches:
            for path, source in self._with_links_followed(str(match), roots):
                name = os.path.relpath(path, self._top)
                try:
                    found = os.lstat(source)
                except (FileNotFoundError, NotADirectoryError):  # gone meanwhile
                    continue
                except OSError as error:  # its directory may be listed, and not entered
                    self._note_closed(error, os.path.dirname(source))
                    continue
                kind = stat.S_IFMT(found.st_mode)
                if kind not in _KINDS:
                    self.left_out[name] = _NO_CONTENT.get(kind, "a device")
                elif name not in seen:
                    seen.add(name)
                    yield name, stamp_of(found), Path(source)

    def _matched(self, pattern: str) -> set[Path]:
        way, _, last = pattern.strip("/").rpartition("/")
        found = set(self._top.glob(pattern.strip("/")))
        if not _SPECIAL.search(
            last
        ):  # a link to nothing: by its plain name `glob` does not find it
            above = self._top.glob(way) if way else [self._top]
            found |= {path for one in above if os.path.islink(path := one / last)}
        return found

    def _look_for_closed(self, parts: Sequence[str]) -> None:
        """Notes directories on the way to what a pattern matches that we may not look into: `glob` passes over them."""
        for depth in range(len(parts)):
            way = "/".join(parts[:depth])
            for directory in self._top.glob(way) if way else [self._top]:
                if directory.is_dir() and not os.access(directory, os.R_OK | os.X_OK):
                    name = os.path.relpath(directory, self._top)
                    self.closed[name] = os.strerror(errno.EACCES)

    def _with_links_followed(self, match: str, roots: Sequence[str]) -> Iterator[tuple[str, str]]:
        for path in files_beneath(match, self._note_closed):
            behind = [*self._behind(path, roots)] if os.path.islink(path) else []
            yield from behind or [(path, path)]

    def _note_closed(self, error: OSError, directory: str = "") -> None:
        """Notes the directory that keeps us out: it may be the one above, which can be listed and not entered."""
        if isinstance(error, FileNotFoundError):
            return
        closed = Path(directory or os.fsdecode(error.filename))
        while closed != self._top and not os.access(closed.parent, os.X_OK):
            closed = closed.parent
        self.closed[os.path.relpath(closed, self._top)] = error.strerror or str(error)

    def _behind(self, link: str, roots: Sequence[str]) -> Iterator[tuple[str, str]]:
        """What the command has made behind a link that leads to a place in the copy which is not collected itself.

        That may be beside the workspace's directory. The copy goes, and with it what the link leads to. Each with its path through the link.
        """
        real, copy = os.path.realpath(link), os.path.realpath(self._top.parent)
        if not is_beneath(real, [os.path.realpath(self._top), copy]):
            if os.path.exists(real):
                self.links_out[os.path.relpath(link, self._top)] = real
            return
        if is_beneath(real, [*roots, os.path.join(copy, STATE_NAME)]):
            return
        new = self._new_beneath(real)
        if os.path.realpath(os.path.dirname(link)).startswith(f"{real}/"):
            ours = [*roots, os.path.join(copy, STATE_NAME)]
            if any(not is_beneath(path, ours) for path in new):
                self.left_out[os.path.relpath(link, self._top)] = _UPWARD
            return
        for path in new:
            yield link + path[len(real) :], path

    def _new_beneath(self, directory: str) -> Iterator[str]:
        """The files there that the command has made or changed."""
        for path in files_beneath(directory, self._note_closed):
            with suppress(OSError):
                found = os.lstat(path)
                if stat.S_ISREG(found.st_mode) and found.st_ctime_ns >= self._began_ns:
                    yield path


_SPECIAL = re.compile(r"[*?\[]")
_KINDS = {stat.S_IFREG, stat.S_IFLNK}
_UPWARD = "a link to a directory that it lies in itself; what is new there besides was not saved"
_NO_CONTENT = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def is_beneath(path: str, directories: Sequence[str]) -> bool:
    """Whether it is one of these, or lies in one."""
    return any(path == directory or path.startswith(f"{directory}/") for directory in directories)


def beneath_workspace(text: str) -> str | None:
    """The pattern without `./` and doubled or closing slashes; None when it does not stay beneath the workspace.

    `a**` means what `a*` does, as in a shell; Python's own matching refuses it.
    """
    parts = [
        part if part == "**" else re.sub(r"\*+", "*", part)
        for part in text.split("/")
        if part not in {"", "."}
    ]
    if not parts or text.startswith(("/", "~")) or ".." in parts or "\0" in text:
        return None
    return "/".join(parts)


def files_beneath(match: str, onerror: Callable[[OSError], None] | None = None) -> Iterator[str]:
    """Every file and link of a tree, links not followed; a file or a link by itself."""
    if os.path.islink(match) or not os.path.isdir(match):
        yield match
        return
    for directory, directories, names in os.walk(match, onerror=onerror):
        links = [name for name in directories if os.path.islink(os.path.join(directory, name))]
        for name in sorted([*names, *links]):
            yield os.path.join(directory, name)
