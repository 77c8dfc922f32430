"""Copies what a job has made into the store, file by file: each is there whole, or as it was saved before.

Nothing is ever removed from what was collected. A file that is written to while it is copied is copied again next time.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path, PurePosixPath

import msgspec

from scratchflow.disk.durable import TEMP_PREFIX, fsync_directory
from scratchflow.disk.private import make_private_directories
from scratchflow.disk.trees import open_within, remove_tree
from scratchflow.model.job import GONE
from scratchflow.model.text import printable
from scratchflow.node.job.copies import inode_of, put_back
from scratchflow.node.job.copying import Stamp, content_bytes, copy_whole, stamp_of
from scratchflow.node.job.matches import Matches, files_beneath, is_beneath
from scratchflow.workspace.workspace import STATE_NAME

_NAMED = 1000
_AT_ONCE = 8
_NOTE = "collected"
_BEFORE = "before"
_HALF_S = 86400
_FILE_CLOCK = 5  # CLOCK_REALTIME_COARSE, by which Linux notes when a file was changed; Python has no name for it


class Collected(msgspec.Struct, frozen=True):
    """What lies in the store by now: how much, the first paths, and what could not be saved."""

    files: int = 0
    bytes: int = 0
    paths: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    # Pipes, sockets and devices: they have no content that could be saved.
    left_out: tuple[str, ...] = ()
    # Links that lead out of the copy: they are saved as links, and what is behind them is not.
    links_out: tuple[str, ...] = ()
    # Patterns of the user's that match nothing.
    unmatched: tuple[str, ...] = ()


class Collector:
    """Knows what the patterns matched before the command ran: what is unchanged since is not its work.

    What an earlier run of the task has put into the store counts as collected, too.
    """

    def __init__(
        self,
        top: Path,
        target: Path,
        patterns: Sequence[str],
        *,
        all_of_it: bool = False,
        only_newer: bool = False,
        beside: Path | None = None,
        since_ns: int | None = None,
        misplaced: str = "",
    ) -> None:
        """With `beside`, what differs from a file in the store goes there, and the store's stays as it is.

        `misplaced` names a directory that may hold more of the command's work, and cannot be looked at as that.
        """
        self._top, self._target, self._only_newer = top, target, only_newer
        self._inode, self._misplaced = inode_of(top), misplaced
        self._is_left = all_of_it and bool(since_ns)
        self._beside = beside
        # On a busy machine the clock of files lags by more than its usual steps.
        began_ns = time.clock_gettime_ns(_FILE_CLOCK) if since_ns is None else since_ns
        self._matches = Matches(top, patterns, began_ns)
        self._before = self._as_it_began(is_left=all_of_it)
        self._closed_before = frozenset(() if all_of_it else self._matches.closed)
        self._saved: dict[str, Stamp] = dict(_already_in(target))
        self._note = top.parent / STATE_NAME / _NOTE
        self._kept: set[str] = (
            set()
        )  # what was saved for good: only `beside` takes another of that name
        if all_of_it:
            noted = _read_note(self._note, target)
            self._saved |= {path: noted[path] for path in noted.keys() & self._saved.keys()}
        if beside is not None:
            failed = [] if only_newer else _read_failed(self._note, target)
            self._kept = {path for path in self._saved if not is_beneath(path, failed)}
        self.present: dict[str, int] = {}
        """All that the patterns matched at the last look, whoever made it, with its mode."""

    def _as_it_began(self, *, is_left: bool) -> dict[str, Stamp]:
        """What the patterns matched before the command ran, noted in the copy for whoever finds it after a crash.

        Of a copy that was left without such a note, everything counts as made by the job.
        """
        note = self._top.parent / STATE_NAME / _BEFORE
        if is_left:
            return _read_note(note, self._top)
        found = {path: stamp for path, stamp, _ in self._matches.found()}
        _write_note(note, self._top, found)
        return found

    def collect(self, *, is_last: bool = False) -> Collected:
        """Copies what is new or changed since the last time; OSError when the store is away.

        The last time, when the command is over, directories that it has closed are opened. It is also looked whether all
        that was saved is there: a store that was away for a while may have had another directory in its place.
        """
        if is_last:
            self._misplaced = put_back(self._top, self._inode)
        failed = self._copy_there(self._changed_when_opened() if is_last else self._changed())
        if is_last and (missing := self._missing()):
            for path in missing:
                del self._saved[path]
            failed |= self._copy_there(self._changed())
            lost = (path for path in missing if path not in self._saved and path not in failed)
            failed |= dict.fromkeys(lost, "it is not in the store any more, nor in the job's copy")
        failed |= {
            path: reason
            for path, reason in sorted(self._matches.closed.items())
            if path not in self._closed_before
        }
        # The copy stays then: whoever looks again copies only the rest.
        if failed or os.path.exists(self._note):
            _write_note(self._note, self._target, self._saved, failed)
        paths = sorted(self._saved)
        size = sum(self._saved[path][0] for path in paths)
        shown = tuple(printable(path) for path in paths[:_NAMED])
        lines = [
            f"{printable(path)}{'/' if path in self._matches.closed else ''}: {reason}"
            for path, reason in failed.items()
        ]
        lines += [self._misplaced] if self._misplaced else []
        left_out = [
            f"{printable(path)}: {kind}" for path, kind in sorted(self._matches.left_out.items())
        ]
        if (is_last or self._is_left) and not self._misplaced and not os.path.isdir(self._top):
            left_out.append(GONE)
        return Collected(
            len(paths),
            size,
            shown,
            tuple(lines[:_NAMED]),
            tuple(left_out[:_NAMED]),
            tuple(self._where_links_lead())[:_NAMED],
            tuple(self._matches.unmatched),
        )

    def _where_links_lead(self) -> Iterator[str]:
        """Each link out of the copy. Of those that were there before, a file cannot be told from the user's own data."""
        for path, real in sorted(self._matches.links_out.items()):
            if path not in self._before or os.path.isdir(real):
                yield f"{printable(path)}: a link to `{printable(real)}`, which is outside the job's copy; what is there was not saved"

    def has_something(self) -> bool:
        """Whether there is anything that `collect` would copy, or cannot look into."""
        is_closed = self._matches.closed.keys() - self._closed_before
        return bool(self._changed() or is_closed or self._misplaced)

    def _changed(self) -> dict[str, Path]:
        """What is to be copied, and where it is read."""
        self.present = {}
        changed = {}
        found = [*self._matches.found()]
        above = _above(path for path, _, _ in found)
        for path, stamp, source in found:
            if path in above:  # a link: what was found behind it is saved in its place
                self._matches.links_out.pop(path, None)
                continue
            self.present[path] = stat.S_IMODE(stamp[3])
            if stamp in {self._before.get(path), self._saved.get(path)}:
                continue
            if path in self._kept and _is_equal(source, self._target / path):
                continue
            if not self._only_newer or _is_newer(stamp, self._target / path):
                changed[path] = source
        return changed

    def _changed_when_opened(self) -> dict[str, Path]:
        """The same after all directories were opened that the command has closed, and that are ours."""
        changed, opened = self._changed(), set[str]()
        while closed := self._matches.closed.keys() - self._closed_before - opened:
            opened |= closed
            open_within(self._top, closed)
            # What a link leads to may lie beside the workspace's directory, in the copy.
            open_within(self._top.parent, {f"{self._top.name}/{one}" for one in closed})
            changed = self._changed()  # there may be others in them
        return changed

    def _place(self, path: str) -> Path:
        """Where it is copied to."""
        return (self._beside if self._beside and self._is_taken(path) else self._target) / path

    def _is_taken(self, path: str) -> bool:
        """Whether what was saved for good has this name, or is a link where this needs a directory."""
        above = self._kept & _above([path])
        return path in self._kept or any((self._target / one).is_symlink() for one in above)

    def _copy_there(self, changed: dict[str, Path]) -> dict[str, str]:
        """Copies them into the directory of the job, which is there already, and still is afterwards.

        Where the store's file system is away, its mount point may take files: whatever was copied there is not saved.
        """
        if not changed:
            return {}
        anchor, saved = self._target.parent.parent, dict(self._saved)
        before = os.stat(anchor)
        failed = self._copy_all(changed)
        try:
            is_same = os.path.samestat(before, os.stat(anchor))
        except FileNotFoundError:
            is_same = False
        if not is_same:
            self._saved = saved
            raise OSError(f"the store went away: `{anchor}` is another directory now")
        return failed

    def _missing(self) -> list[str]:
        """What was saved, and is not in the store with the length that it had."""
        missing = []
        for path, stamp in self._saved.items():
            try:
                is_there = content_bytes(os.lstat(self._target / path)) == stamp[0]
            except (FileNotFoundError, NotADirectoryError):
                is_there = False
            if not is_there:
                missing.append(path)
        return missing

    def _copy_all(self, changed: dict[str, Path]) -> dict[str, str]:
        """Copies many at once: each waits for the store's disk until it is safe there. What failed, and why."""
        failed: dict[str, str] = {}
        parents = {self._place(path).parent for path in changed}
        for parent in sorted(parents):
            with suppress(OSError):  # whoever copies something into it meets it again
                self._make_directory(parent)

        def copy(path: str) -> Stamp | OSError:
            try:
                return copy_whole(changed[path], self._place(path))
            except OSError as error:
                return error

        with ThreadPoolExecutor(_AT_ONCE, "collect") as pool:
            for path, done in zip(changed, pool.map(copy, changed), strict=True):
                if isinstance(done, OSError):
                    failed[path] = done.strerror or str(done)
                elif not self._is_taken(path):
                    self._saved[path] = done
        for parent in sorted(parents):
            with suppress(FileNotFoundError, NotADirectoryError):  # nothing could be made in it
                fsync_directory(parent)
        return failed

    def _make_directory(self, directory: Path) -> None:
        """Makes it in the store, in place of links of an earlier look: what is copied there must not go through them."""
        root = self._target if directory.is_relative_to(self._target) else self._beside
        at = root or self._target
        for part in directory.relative_to(at).parts:
            at /= part
            if at.is_symlink():
                at.unlink()
                self._saved.pop(os.path.relpath(at, self._target), None)
        make_private_directories(directory)

    def put_back(self, present: Mapping[str, int | None] | None) -> None:
        """Makes what the patterns match what it was at the last look of an earlier run; None: add all that was saved.

        Call it before the command runs. What it puts there counts as saved already, and has the mode that is noted:
        in the store nobody else may read it.
        """
        if present is not None:
            # A link that something was made behind is not among them itself.
            above = {str(parent) for path in present for parent in PurePosixPath(path).parents}
            gone = [path for path, _, _ in self._matches.found() if path not in present]
            for path in gone:
                if path not in above:
                    (self._top / path).unlink()
        for file in sorted(files_beneath(str(self._target))) if self._target.is_dir() else ():
            path = os.path.relpath(file, self._target)
            is_half = os.path.basename(path).startswith(TEMP_PREFIX)  # a killed run has left it
            if not is_half and (present is None or path in present):
                _make_way(self._top, path)
                copy_whole(self._target / path, self._top / path, durable=False)
                mode = present.get(path) if present else None
                if mode is not None and not (self._top / path).is_symlink():
                    os.chmod(self._top / path, mode)
                self._saved[path] = stamp_of(os.lstat(self._top / path))


def _above(paths: Iterable[str]) -> set[str]:
    """The directories that these paths lie in, at any depth."""
    found: set[str] = set()
    for path in paths:
        directory = os.path.dirname(path)
        while directory and directory not in found:
            found.add(directory)
            directory = os.path.dirname(directory)
    return found


def _remove_if_old(half: str) -> None:
    """Removes what a killed run had begun to copy. One of today may be somebody's who is at work."""
    with suppress(OSError):
        if time.time() - os.lstat(half).st_ctime > _HALF_S:
            os.unlink(half)


def _is_newer(stamp: Stamp, saved: Path) -> bool:
    """Than what lies in the store; what is not there is older than everything."""
    try:
        return stamp[1] > os.lstat(saved).st_mtime_ns
    except FileNotFoundError:
        return True


def _is_equal(source: Path, saved: Path) -> bool:
    """As far as size and time tell: a copy in the store has the time of its file."""
    try:
        one, other = os.lstat(source), os.lstat(saved)
        if stat.S_ISLNK(one.st_mode) and stat.S_ISLNK(other.st_mode):
            return os.readlink(source) == os.readlink(saved)
    except OSError:
        return False
    return stamp_of(one)[:2] == stamp_of(other)[:2]


def _already_in(target: Path) -> Iterator[tuple[str, Stamp]]:
    """The files there; their stamps equal none that is found in a workspace, where no file has the number 0."""
    for path in files_beneath(str(target)) if target.is_dir() else ():
        if os.path.basename(path).startswith(TEMP_PREFIX):
            _remove_if_old(path)
            continue
        with suppress(OSError):
            yield os.path.relpath(path, target), (content_bytes(os.lstat(path)), 0, 0, 0, 0)


class _Saved(msgspec.Struct, frozen=True):
    """What of a copy lies in the store, with the stamps that its files had."""

    target: bytes
    stamps: dict[bytes, Stamp]
    # Files and directories of which the last look could not save what they were then.
    failed: list[bytes] = []


def _read_saved(note: Path, target: Path) -> _Saved:
    nothing = _Saved(os.fsencode(target), {})
    try:
        saved = msgspec.msgpack.decode(note.read_bytes(), type=_Saved)
    except (OSError, msgspec.DecodeError):
        return nothing
    return saved if saved.target == nothing.target else nothing


def _read_note(note: Path, target: Path) -> dict[str, Stamp]:
    stamps = _read_saved(note, target).stamps
    return {os.fsdecode(path): stamp for path, stamp in stamps.items()}


def _read_failed(note: Path, target: Path) -> list[str]:
    return [os.fsdecode(path) for path in _read_saved(note, target).failed]


def _write_note(
    note: Path, target: Path, stamps: dict[str, Stamp], failed: Iterable[str] = ()
) -> None:
    by_name = {os.fsencode(path): stamp for path, stamp in stamps.items()}
    saved = _Saved(os.fsencode(target), by_name, [os.fsencode(path) for path in failed])
    with suppress(OSError):  # without it, all is copied again
        make_private_directories(note.parent)
        note.write_bytes(msgspec.msgpack.encode(saved))


def _make_way(top: Path, path: str) -> None:
    """What is no directory where one is needed goes, also a link that leads out of the copy."""
    at, real_top = top, os.path.realpath(top)
    for part in Path(path).parts[:-1]:
        at /= part
        leads_out = at.is_symlink() and not is_beneath(os.path.realpath(at), [real_top])
        if leads_out or (os.path.lexists(at) and not at.is_dir()):
            at.unlink()
    last = top / path
    if last.is_dir() and not last.is_symlink():
        remove_tree(last)
