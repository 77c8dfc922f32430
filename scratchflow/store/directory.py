"""Where the snapshots of one workspace lie: `<store>/<workspace>/`, ours alone, and its names.

Directories are 0700 and files 0600 whatever the umask: a snapshot holds the user's secrets.
Directories above the store may belong to anybody, like `/fsx` with its 1777. Those that are made above it shut nobody out:
`users` in `/fsx/users/alice/scratchflow` is as open as `/fsx`, because others have their directories in it, too.
"""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

import msgspec

from scratchflow.disk.durable import TEMP_PREFIX, fsync_directory, is_there
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.store.failures import store_errors

ARCHIVE_SUFFIX = ".tar.lz4"
MANIFEST_SUFFIX = ".json"
LOCK_NAME = "lock.d"
NODES_NAME = "nodes"
HEARTBEATS_NAME = "heartbeats"
KEPT_NAME = "kept"
JOBS_NAME = "jobs"
LINEAGE_NAME = "lineage.json"
STORE_NAME = "store.json"
READERS_NAME = "readers"
VERIFIED_NAME = "verified"
RESERVE_NAME = "reserve"
ARRIVING_NAME = "arriving"
MIRROR_NAME = "mirror"
FILE_MODE = 0o600
DIRECTORY_MODE = 0o700

_OWN_NAMES = {
    LOCK_NAME,
    NODES_NAME,
    HEARTBEATS_NAME,
    KEPT_NAME,
    JOBS_NAME,
    LINEAGE_NAME,
    STORE_NAME,
    READERS_NAME,
    VERIFIED_NAME,
    RESERVE_NAME,
    ARRIVING_NAME,
    MIRROR_NAME,
}
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class StoreDirectory(msgspec.Struct, frozen=True):
    """The directory of one workspace's snapshots, and the names inside it. Touches no disk."""

    directory: Path

    def archive(self, snapshot: str) -> Path:
        """`<id>.tar.lz4`."""
        return self.directory / f"{_checked(snapshot)}{ARCHIVE_SUFFIX}"

    def manifest(self, snapshot: str) -> Path:
        """`<id>.json`."""
        return self.directory / f"{_checked(snapshot)}{MANIFEST_SUFFIX}"

    def temp_archive(self, snapshot: str) -> Path:
        """`.tmp-<id>.tar.lz4`: an archive that is still being written."""
        return self.directory / f"{TEMP_PREFIX}{_checked(snapshot)}{ARCHIVE_SUFFIX}"

    def temp_manifest(self, snapshot: str) -> Path:
        """`.tmp-<id>.json`."""
        return self.directory / f"{TEMP_PREFIX}{_checked(snapshot)}{MANIFEST_SUFFIX}"

    @property
    def lock(self) -> Path:
        """`lock.d`."""
        return self.directory / LOCK_NAME

    @property
    def nodes(self) -> Path:
        """`nodes`."""
        return self.directory / NODES_NAME

    @property
    def arriving(self) -> Path:
        """`arriving`: archives that are being copied from another store."""
        return self.directory / ARRIVING_NAME


def find_place(store: Path, workspace: str) -> StoreDirectory:
    """The place as it is, for reading: nothing is created or changed, it need not exist.

    A directory that exists but is not ours, or that others may write to, is refused: its
    manifests could be anybody's.
    """
    place = StoreDirectory(_root(store).joinpath(*_parts(store, workspace)))
    for directory in _levels(store, workspace):
        with store_errors(directory):
            if not is_there(directory):
                break
        _require_safe(directory, is_store=directory == _root(store))
    return place


def open_place(store: Path, workspace: str) -> StoreDirectory:
    """The place for writing: made if it is missing, also when two processes make it at once."""
    root = _root(store)
    with store_errors(root):
        _make_above(root)
    for directory in _levels(store, workspace):
        with store_errors(directory):
            make_private_directory(directory)
        _require_safe(directory, is_store=directory == root)
        if directory != root:
            with store_errors(directory):
                _close_to_others(directory)
    return find_place(store, workspace)


def make_private_directory(directory: Path) -> None:
    """Makes one directory, 0700, durable; one that is there already is left as it is."""
    try:
        os.mkdir(directory, DIRECTORY_MODE)
    except FileExistsError:
        return
    # mkdir subtracts the umask, which may take bits that the owner needs.
    _set_mode(directory, DIRECTORY_MODE)
    fsync_directory(directory.parent)


def _make_above(store: Path) -> None:
    """Makes the directories above the store that are missing: from the one with the user's name on they are private."""
    if is_there(store):
        return
    name = _own_name()
    for directory in reversed(store.parents):
        if is_there(directory):
            continue
        if name in directory.parts:
            make_private_directory(directory)
        else:
            _make_open_directory(directory, is_shared=name in store.parts)


def _make_open_directory(directory: Path, *, is_shared: bool) -> None:
    """As open as the directory that it is made in; others may make names in it only if it is shared, and never replace ours."""
    above = stat.S_IMODE(os.stat(directory.parent).st_mode)
    mode = DIRECTORY_MODE | above & (0o777 if is_shared else 0o755)
    if mode & _OTHERS_MAY_WRITE:
        mode |= stat.S_ISVTX
    try:
        os.mkdir(directory, mode)
    except FileExistsError:
        return
    # mkdir subtracts the umask; the set-group-id bit is the site's, and stays.
    os.chmod(directory, mode | os.lstat(directory).st_mode & stat.S_ISGID)
    fsync_directory(directory.parent)


def _own_name() -> str:
    """The user's name, which is what `$USER` in the profile's `store` stands for; empty when this machine does not know it."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return ""


def _close_to_others(directory: Path) -> None:
    """Takes from others what they may do. What its owner took from himself, as in a store that is to stay as it is, stays taken."""
    _set_mode(directory, os.lstat(directory).st_mode & DIRECTORY_MODE)


def _set_mode(directory: Path, mode: int) -> None:
    found = os.lstat(directory).st_mode
    # A set-group-id bit decides which group's quota pays: it is the site's, and stays.
    wanted = mode | (found & stat.S_ISGID)
    if stat.S_IMODE(found) != wanted:
        os.chmod(directory, wanted)


def _require_safe(directory: Path, *, is_store: bool) -> None:
    with store_errors(directory):
        found = os.lstat(directory)
    if not stat.S_ISDIR(found.st_mode):
        from shlex import quote  # not for every start

        raise StoreUnusable(
            path=directory,
            reason="it is not a directory",
            remedy=f"`ls -ld {quote(str(directory))}` shows what it is; set `store` in the profile to a directory",
        )
    _require_ours(directory, found, is_store=is_store)
    _require_closed(directory, found, is_store=is_store)


def _require_ours(directory: Path, found: os.stat_result, *, is_store: bool) -> None:
    # A store of root's, shared with the sticky bit, is fine: what lies in it is checked to be ours.
    owners = {os.geteuid(), 0} if is_store else {os.geteuid()}
    if found.st_uid not in owners:
        raise StoreUnusable(
            path=directory,
            reason=f"it belongs to user {found.st_uid}, not to you",
            remedy="set `store` in the profile to a directory of your own, like `/fsx/users/$USER/scratchflow`",
        )


def _require_closed(directory: Path, found: os.stat_result, *, is_store: bool) -> None:
    if not found.st_mode & _OTHERS_MAY_WRITE:
        return
    # With the sticky bit, others can add names to a shared store but not replace ours.
    if is_store and found.st_mode & stat.S_ISVTX:
        return
    from shlex import quote  # not for every start

    raise StoreUnusable(
        path=directory,
        reason="others may write to it, and so could replace your snapshots",
        remedy=f"look at what is in it, then close it with `chmod go-w {quote(str(directory))}`",
    )


def _levels(store: Path, workspace: str) -> list[Path]:
    """The store and every directory below it down to the place, outermost first."""
    levels = [_root(store)]
    for part in _parts(store, workspace):
        levels.append(levels[-1] / part)
    return levels


def _root(store: Path) -> Path:
    if not store.is_absolute():
        raise StoreUnusable(
            path=store,
            reason="it is not an absolute path",
            remedy="set `store` in the profile to an absolute path",
        )
    return Path(os.path.realpath(store))


def _parts(store: Path, workspace: str) -> list[str]:
    parts = workspace.split("/")
    # `work/nodes` would lie inside what the workspace `work` keeps in its own place.
    inner = _OWN_NAMES.intersection(parts[1:])
    if inner or "\0" in workspace or any(part in {"", ".", ".."} for part in parts):
        raise StoreUnusable(
            path=store / "…",
            reason=f"the workspace's name `{workspace}` cannot be used in it",
            remedy="set `workspace` in the profile to a plain relative path",
        )
    return parts


def _checked(snapshot: str) -> str:
    """The id, which becomes part of a path. Anything else here is a bug of the caller."""
    if not is_snapshot_id(snapshot):
        raise ValueError(f"not a snapshot id: {snapshot!r}")
    return snapshot
