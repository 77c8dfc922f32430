"""`snapshots history`: what one path was over time, by the indexes alone; no content is read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.read.path_state import PathState, has_same_content, read_state
from scratchflow.archive.read.selection import is_pattern
from scratchflow.archive.tree.tree import is_same_mode
from scratchflow.model.errors.snapshots import PathInNone, SnapshotDamaged
from scratchflow.model.events import path_fields
from scratchflow.model.requests import History
from scratchflow.model.results.snapshots import FileVersion, PathHistory
from scratchflow.model.snapshot import Manifest
from scratchflow.model.text import printable
from scratchflow.model.times import iso_time
from scratchflow.node.contents.paths import (
    kind_word,
    matching,
    mode_word,
    names_of,
    require_one,
    time_word,
)
from scratchflow.node.context import NodeContext
from scratchflow.node.history.history import forks_of, warned_catalogue
from scratchflow.node.progress import Notifier
from scratchflow.store.directory import find_place


class _Seen(msgspec.Struct, frozen=True):
    """The path in one snapshot; None where that has no such path."""

    manifest: Manifest
    state: PathState | None


def path_history(context: NodeContext, notify: Notifier, asked: History) -> PathHistory:
    """One row for each version of the path, oldest first.

    What only forks have stands between by its time, and is marked: it came before or after nothing else.
    """
    catalogue = warned_catalogue(context, notify)
    forks = forks_of(context, catalogue)
    looked = _Look(context, notify, asked.path)
    seen = [looked.at(one) for one in reversed(catalogue.snapshots)][::-1]
    found = [one for one in seen if one is not None]
    if looked.path is None:
        raise PathInNone(path=asked.path, checked=len(found))
    line = [one for one in found if one.manifest.id not in forks]
    versions = list(_versions(line))
    known = [one.state for one in line if one.state is not None]
    versions += _only_in_forks([one for one in found if one.manifest.id in forks], known)
    return PathHistory(
        versions=sorted(versions, key=lambda one: one.snapshot),
        checked=len(found),
        now=iso_time(context.now().timestamp()),
        **path_fields(looked.path),
    )


class _Look:
    """Finds the path in one snapshot after the other, the newest first.

    The newest that has it decides what was meant; older ones are asked for that very path.
    """

    def __init__(self, context: NodeContext, notify: Notifier, typed: str) -> None:
        self.path: bytes | None = None
        self._typed = typed
        self._workspace = context.workspace
        self._place = find_place(context.store, context.workspace.name)
        self._notify = notify

    def at(self, manifest: Manifest) -> _Seen | None:
        """None for a snapshot that cannot be read, with a warning."""
        archive = self._place.archive(manifest.id)
        try:
            if self.path is None:
                self.path = self._meant(archive)
            return _Seen(manifest, read_state(archive, self.path) if self.path else None)
        except SnapshotDamaged as error:
            self._notify.warn("snapshots.unreadable", b"", str(error))
            return None

    def _meant(self, archive: Path) -> bytes | None:
        """What was typed as this snapshot has it; None when it has no such path."""
        if not is_pattern(self._typed):
            names = names_of(self._typed, self._workspace)
            return next((one for one in names if read_state(archive, one) is not None), None)
        index = open_index(archive)
        entries = matching(index, self._typed, self._workspace)
        return index.path(require_one(index, self._typed, entries)) if entries else None


def _versions(line: list[_Seen]) -> Iterator[FileVersion]:
    """The versions along one line of history; before it was there for the first time there is none."""
    before: PathState | None = None
    version: FileVersion | None = None
    for one in line:
        if version is not None and _is_same(before, one.state):
            version = msgspec.structs.replace(version, last=one.manifest.id)
            continue
        if version is not None:
            yield version
        if version is not None or one.state is not None:
            version = _version(one, before)
        before = one.state
    if version is not None:
        yield version


def _is_same(one: PathState | None, other: PathState | None) -> bool:
    if one is None or other is None:
        return one is other
    return is_same_mode(one.mode, other.mode) and has_same_content(one, other)


def _only_in_forks(seen: list[_Seen], known: list[PathState]) -> Iterator[FileVersion]:
    """Of each fork what no other snapshot has; that a fork has no such path is no version."""
    known = list(known)
    for one in seen:
        state = one.state
        if state is not None and not any(has_same_content(state, other) for other in known):
            known.append(state)
            yield msgspec.structs.replace(_version(one, None), change="changed", fork=True)


def _version(seen: _Seen, before: PathState | None) -> FileVersion:
    manifest, state = seen.manifest, seen.state
    if state is None:
        return FileVersion(
            snapshot=manifest.id, time=manifest.time, last=manifest.id, change="deleted"
        )
    kind = kind_word(state.mode)
    is_mode = before is not None and not is_same_mode(before.mode, state.mode)
    is_content = before is not None and not has_same_content(before, state)
    return FileVersion(
        snapshot=manifest.id,
        time=manifest.time,
        last=manifest.id,
        change="added" if before is None else "changed" if is_content else "mode",
        kind=kind,  # type: ignore[arg-type]  # one of the three words
        size=state.size,
        mode=mode_word(state.mode),
        mode_before=mode_word(before.mode) if before is not None and is_mode else None,
        mtime=time_word(state.mtime_ns),
        target=printable(os.fsdecode(state.target)) if kind == "link" else None,
    )
