"""The lock on disk: `lock.d`, made by mkdir, and in it a chain of owner files.

    lock.d/owner.json           the first owner, with a token of its own
    lock.d/after-<token>.json   who took over from the owner with that token, and so on

The last of the chain holds the lock; the time of its file is its heartbeat. Each step is one
exclusive creation (mkdir or link), so of any number of processes that want to take over from the
same owner exactly one succeeds, and the lock is never absent meanwhile. Whoever looked at an owner
that is gone by now adds a file that no chain leads to: it holds nothing.

`flock` is not used: on many cluster mounts it excludes nobody.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.disk.durable import TEMP_PREFIX, link_new, write_new
from scratchflow.store.owner import Owner
from scratchflow.store.place import DIRECTORY_MODE, FILE_MODE

RELEASED_PREFIX = f"{TEMP_PREFIX}lock-"

_FIRST = "owner.json"
_TOKEN = re.compile(r"[0-9a-f]{32}", re.ASCII)
_OWNER_LIMIT_BYTES = 65536


class Head(msgspec.Struct, frozen=True):
    """The last of the chain. Without an owner: half-made, or its file cannot be read."""

    owner: Owner | None
    heartbeat: float
    file: Path
    successor: Path

    @property
    def is_half_made(self) -> bool:
        """The directory is there and no owner file yet: the first one is still to be claimed."""
        return self.file == self.successor

    def is_held_by(self, token: str) -> bool:
        """Whether the owner with this token is the last of the chain."""
        return self.owner is not None and self.owner.token == token


def make_lock_directory(lock: Path) -> bool:
    """True when this call made it; False when it was there."""
    try:
        os.mkdir(lock, DIRECTORY_MODE)
    except FileExistsError:
        return False
    os.chmod(lock, DIRECTORY_MODE)  # the umask may have taken bits that the owner needs
    return True


def read_head(lock: Path) -> Head | None:
    """Who holds the lock; None when nobody does."""
    try:
        made = os.lstat(lock).st_mtime
    except FileNotFoundError:
        return None
    first = lock / _FIRST
    head = Head(owner=None, heartbeat=made, file=first, successor=first)
    for depth in range(100_000):
        found = _read_link_of_chain(head.successor, depth)
        if found is None:
            break
        head = found
    return head


def claim(lock: Path, target: Path, owner: Owner, now: float) -> bool:
    """Puts the owner's file at `target`, whole and with a heartbeat; False when another was first."""
    temp = lock / f"{TEMP_PREFIX}{owner.token}"
    content = msgspec.json.encode(owner)
    try:
        write_new(temp, content, mode=FILE_MODE)
        os.utime(temp, (now, now))
        if not link_new(temp, target):
            # Without hard links a reader may meet this file half-written: it counts as half-made.
            write_new(target, content, mode=FILE_MODE)
            os.utime(target, (now, now))
    except (FileExistsError, FileNotFoundError):
        return False
    finally:
        with suppress(OSError):
            os.unlink(temp)
    return True


def set_aside(place_directory: Path, lock: Path, token: str) -> None:
    """Ends the lock that the owner with this token holds: away in one rename, then removed.

    An owner that was silent until now may be taken over in this very instant. Then the lock that
    was moved is somebody else's and is put back; had a third made a new one meanwhile, the
    somebody else finds out before its commit.
    """
    aside = place_directory / f"{RELEASED_PREFIX}{token}"
    os.rename(lock, aside)
    head = read_head(aside)
    if head is not None and not head.is_held_by(token):
        os.rename(aside, lock)
        return
    remove_lock_directory(aside)


def remove_lock_directory(directory: Path) -> None:
    """Removes a lock that was set aside, with all its owner files."""
    for name in os.listdir(directory):
        os.unlink(directory / name)
    os.rmdir(directory)


def _read_link_of_chain(file: Path, depth: int) -> Head | None:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    try:
        heartbeat = os.fstat(descriptor).st_mtime
        owner = _decoded(os.read(descriptor, _OWNER_LIMIT_BYTES))
    finally:
        os.close(descriptor)
    key = owner.token if owner else f"unreadable-{depth}"
    return Head(
        owner=owner, heartbeat=heartbeat, file=file, successor=file.with_name(f"after-{key}.json")
    )


def _decoded(content: bytes) -> Owner | None:
    try:
        owner = msgspec.json.decode(content, type=Owner)
    except msgspec.DecodeError:
        return None
    # The token becomes part of a file name.
    return owner if _TOKEN.fullmatch(owner.token) else None
