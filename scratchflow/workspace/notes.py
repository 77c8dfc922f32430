"""Two notes beside the workspace: which snapshot it came from, and a restore that is under way.

A note is a hint with a date: the workspace may have changed since. What must never be wrong is
the absence of a restore note while a restore is half done, so it is written first and removed last.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from scratchflow.disk.durable import fsync_directory, replace_file
from scratchflow.model.decoding import decoded
from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.workspace.former import Former, note_former, number_of
from scratchflow.workspace.workspace import STATE_NAME, Workspace

_BASE = "base.json"
_RESTORING = "restoring.json"
_CACHE = "scan-cache"
# In the place of an id, where a note does not say which snapshot was being restored.
UNKNOWN = "unknown"


class Base(msgspec.Struct, frozen=True, kw_only=True):
    """The snapshot that the workspace equalled when it was last backed up or restored."""

    snapshot: str
    store: str
    # The id of that store; empty in notes from before stores had one.
    store_id: str = ""
    # The profile that saved or restored it last: its rules say which snapshots stay.
    profile: str = ""
    # A snapshot of the workspace that was about to be committed. If the store has it, the workspace continues it:
    # whoever took it was ended before that could be noted.
    saving: str = ""
    # Of the workspace's directory, by which it is known under another name; 0 where it was not noted.
    inode: int = 0

    def present(self, is_stored: Callable[[str], bool]) -> str:
        """The snapshot that the workspace continues, given which ones the store has."""
        is_saved = is_snapshot_id(self.saving) and is_stored(self.saving)
        return self.saving if is_saved else self.snapshot


class Restoring(msgspec.Struct, frozen=True, kw_only=True):
    """A restore that has begun to change the workspace."""

    snapshot: str
    mode: Literal["full", "delta"]
    # Whose it is while no base is noted; empty in notes of earlier versions.
    store: str = ""
    profile: str = ""


def read_base(workspace: Workspace, store: Path) -> str | None:
    """The snapshot the workspace came from, if it came from this store."""
    base = read_base_note(workspace, store)
    return base.snapshot if base else None


def read_base_note(workspace: Workspace, store: Path) -> Base | None:
    """The same, with the id that the store had then."""
    base = _read_base(workspace)
    if base is None or base.store != str(store) or not is_snapshot_id(base.snapshot):
        return None
    return base


def noted_base(workspace: Workspace) -> Base | None:
    """The snapshot the workspace came from, with the store that has it, whichever that is."""
    base = _read_base(workspace)
    return base if base is not None and is_snapshot_id(base.snapshot) else None


def is_noted_by(workspace: Workspace, profile: str) -> bool:
    """Whether this profile saved or restored the workspace last; an earlier version did not say which one did."""
    base = noted_base(workspace)
    return base is not None and base.profile in {"", profile}


def known_workspaces(scratch: Path) -> list[str]:
    """The names of all workspaces that have notes on this scratch, whatever the profile says now."""
    return sorted(_named(scratch / STATE_NAME, ""))


def _named(directory: Path, prefix: str) -> Iterator[str]:
    """A name may have several parts, and its notes lie that deep."""
    try:
        entries = [entry for entry in os.scandir(directory) if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.name.startswith("incoming-"):  # a whole tree under construction
            continue
        path, name = Path(entry.path), f"{prefix}{entry.name}"
        if (path / _BASE).exists() or (path / _RESTORING).exists():
            yield name
        yield from _named(path, f"{name}/")


def write_base(
    workspace: Workspace, store: Path, snapshot: str, store_id: str = "", profile: str = ""
) -> None:
    """Notes that the workspace equals this snapshot now."""
    _note_former(workspace)
    note = Base(
        snapshot=snapshot,
        store=str(store),
        store_id=store_id,
        profile=profile,
        inode=number_of(workspace.path),
    )
    _write(workspace.state / _BASE, note)


def note_saving(workspace: Workspace, snapshot: str) -> None:
    """Notes that this snapshot of the workspace is about to be committed; nothing where no note says what it came from."""
    note = _read_base(workspace)
    if note is not None:
        _write(workspace.state / _BASE, msgspec.structs.replace(note, saving=snapshot))


def forget_base(workspace: Workspace) -> None:
    """Removes the note, before the workspace is changed."""
    _note_former(workspace)
    _remove(workspace.state / _BASE)
    _remove(cache_path(workspace))


def _note_former(workspace: Workspace) -> None:
    base = _read_base(workspace)
    if base is not None:
        note_former(workspace, Former(base.inode, base.snapshot))


def read_restoring(workspace: Workspace) -> Restoring | None:
    """The restore that is under way or was interrupted, if there is one.

    A note that cannot be understood is still one: of a restore of `UNKNOWN`.
    """
    try:
        content = (workspace.state / _RESTORING).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        note = decoded(content, Restoring)
    except msgspec.DecodeError:
        return Restoring(snapshot=UNKNOWN, mode="delta")
    return note if is_snapshot_id(note.snapshot) else Restoring(snapshot=UNKNOWN, mode=note.mode)


def begin_restoring(workspace: Workspace, note: Restoring) -> None:
    """Notes that a restore begins to change the workspace."""
    _write(workspace.state / _RESTORING, note)


def end_restoring(workspace: Workspace) -> None:
    """Removes the note: the restore is complete."""
    _remove(workspace.state / _RESTORING)


def cache_path(workspace: Workspace) -> Path:
    """Where the scan cache lies; losing it costs time, never data."""
    return workspace.state / _CACHE


def _read_base(workspace: Workspace) -> Base | None:
    try:
        return decoded((workspace.state / _BASE).read_bytes(), Base)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None


def _write(path: Path, note: Base | Restoring) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_file(path, msgspec.json.encode(note) + b"\n")


def _remove(path: Path) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    fsync_directory(path.parent)
