"""The lock on disk: the directory `lock.d`, and in it a chain of owner files.

    lock.d/owner.json           the first owner, with a token of its own
    lock.d/after-<token>.json   who took over from the owner with that token, and so on

The last of the chain holds the lock; the time of its file is its heartbeat. A free lock is taken by
renaming a whole directory, owner file included, to `lock.d`: rename replaces an empty directory and
refuses one that holds anything. Taking over is one exclusive creation (link). So of any number of
processes exactly one succeeds, the lock is never absent meanwhile, and a run that is killed on the
way leaves either a whole lock or a temporary directory. An empty `lock.d` belongs to nobody. Whoever
looked at an owner that is gone by now adds a file that no chain leads to: it holds nothing.

Every answer of the file system is checked by reading the chain again: NFS may report a failure for a
rename that it carried out, and SFTP refuses a rename onto an empty directory.

`flock` is not used: on many cluster mounts it excludes nobody.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from scratchflow.disk.durable import TEMP_PREFIX, is_there, link_new, write_new
from scratchflow.model.decoding import decoded
from scratchflow.store.directory import DIRECTORY_MODE, FILE_MODE
from scratchflow.store.lock.owner import Owner

# A whole lock that is not yet in its place, or no longer.
RELEASED_PREFIX = f"{TEMP_PREFIX}lock-"

# Sets a file's time to now, by whichever clock the file system uses for that.
Touch = Callable[[int | Path], None]

_FIRST = "owner.json"
_OCCUPIED = {errno.ENOTEMPTY, errno.EEXIST, errno.ESTALE}
_STALE_LOOKS = 50
_STALE_PAUSE_S = 0.1
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


def is_free(lock: Path, head: Head | None) -> bool:
    """Whether nobody holds the lock: it is absent, or an empty directory."""
    if head is None:
        return True
    if not head.is_half_made:
        return False
    try:
        return not os.listdir(lock)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno != errno.ESTALE:
            raise
        return False  # it was replaced: the next look shows by whom


def put_whole_lock(place_directory: Path, lock: Path, owner: Owner, touch: Touch) -> None:
    """Makes a lock of this owner's beside `lock.d` and renames it there, unless that is held by now.

    Nothing is returned: only `read_head` says who holds the lock. Nothing is synced but the owner
    file: a power cut that leaves `lock.d` absent or empty leaves a free lock.
    """
    whole = place_directory / f"{RELEASED_PREFIX}{owner.token}"
    os.mkdir(whole, DIRECTORY_MODE)
    try:
        os.chmod(whole, DIRECTORY_MODE)  # the umask may have taken bits that the owner needs
        write_new(whole / _FIRST, msgspec.json.encode(owner), mode=FILE_MODE)
        touch(whole / _FIRST)
        _rename_to_free(whole, lock)
    except FileNotFoundError:
        return  # the run that holds the lock by now has swept it away
    finally:
        with suppress(FileNotFoundError):
            remove_lock_directory(whole)


def _rename_to_free(whole: Path, lock: Path) -> None:
    try:
        os.rename(whole, lock)
    except FileNotFoundError:
        return  # carried out before, and sent again by NFS
    except OSError as error:
        # SFTP says EPERM for a directory that is not empty.
        if error.errno not in _OCCUPIED and not is_there(lock):
            raise
        # Where rename replaces no directory at all, an empty one has to go first.
        with suppress(OSError):
            os.rmdir(lock)


def read_head(lock: Path) -> Head | None:
    """Who holds the lock; None when nobody does.

    A network file system may still know a lock by name that another host has replaced, and say
    ESTALE for it: it forgets that within a second or so, and is asked again.
    """
    for _ in range(_STALE_LOOKS):
        try:
            return _read_head_once(lock)
        except OSError as error:
            if error.errno != errno.ESTALE:
                raise
        time.sleep(_STALE_PAUSE_S)
    return _read_head_once(lock)


def _read_head_once(lock: Path) -> Head | None:
    try:
        made = os.lstat(lock).st_mtime
    except FileNotFoundError:
        return None
    first = lock / _FIRST
    head = Head(owner=None, heartbeat=made, file=first, successor=first)
    seen: set[Path] = set()  # a chain that leads back to itself has an end, too
    while head.successor not in seen:
        found = _read_link_of_chain(head.successor, len(seen))
        if found is None:
            break
        seen.add(head.successor)
        head = found
    return head


def claim(lock: Path, target: Path, owner: Owner, touch: Touch) -> bool:
    """Puts the owner's file at `target`, whole and with a heartbeat; False when another was first."""
    temp = lock / f"{TEMP_PREFIX}{owner.token}"
    content = msgspec.json.encode(owner)
    try:
        write_new(temp, content, mode=FILE_MODE)
        touch(temp)
        if not link_new(temp, target):
            # Without hard links a reader may meet this file half-written: it counts as half-made.
            write_new(target, content, mode=FILE_MODE)
            touch(target)
    except (FileExistsError, FileNotFoundError):
        return False
    except OSError as error:
        if error.errno != errno.ESTALE:
            raise
        return False  # the lock was replaced under our eyes
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
    except FileNotFoundError as error:  # as sshfs says of an open file that another host removed
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE)) from error
    finally:
        os.close(descriptor)
    key = owner.token if owner else f"unreadable-{depth}"
    return Head(
        owner=owner, heartbeat=heartbeat, file=file, successor=file.with_name(f"after-{key}.json")
    )


def _decoded(content: bytes) -> Owner | None:
    try:
        owner = decoded(content, Owner)
    except msgspec.DecodeError:
        return None
    # The token becomes part of a file name.
    return owner if _TOKEN.fullmatch(owner.token) else None
