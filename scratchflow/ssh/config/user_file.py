"""A file that is the user's: looked at with suspicion, replaced whole or not at all.

Replacing keeps content elsewhere, mode, group (where the system lets us) and the symlink that
leads to it. It does not keep access control lists and extended attributes.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from scratchflow.disk.durable import TEMP_PREFIX, fsync_directory, write_new
from scratchflow.model.errors.ssh import SshConfigRefused
from scratchflow.ssh.config.paths import SshPaths

_READ_ONLY = "it is read-only"


class UserFile(msgspec.Struct, frozen=True):
    """The user's config as it was when we looked."""

    places: SshPaths
    target: Path
    content: bytes | None
    status: os.stat_result | None

    def refusal(self, reason: str, remedy: str) -> SshConfigRefused:
        """The error that leaves the file alone."""
        return SshConfigRefused(path=self.places.config, reason=reason, remedy=remedy)

    def require_safe_mode(self) -> None:
        """Refuses a file that ssh itself would refuse, and with it every connection."""
        if self.status and stat.S_IMODE(self.status.st_mode) & 0o022:
            raise self.refusal(
                "others may write to it, and ssh refuses such a file",
                f"run `chmod go-w {shlex.quote(str(self.target))}`, then try again",
            )

    def require_writable(self, by_hand: str = "") -> None:
        """Refuses what only the user, or whatever manages their files, may change; `by_hand` is what they may do instead."""
        reason = (self._not_ours(self.status) if self.status else None) or self._no_room()
        if reason:
            remedy = by_hand or _by_hand(self.places, self.content)
            allow = f"run `chmod u+w {shlex.quote(str(self.target))}` and try again, or "
            raise self.refusal(reason, f"{allow if reason == _READ_ONLY else ''}{remedy}")

    @staticmethod
    def _not_ours(status: os.stat_result) -> str | None:
        if status.st_uid != os.geteuid():
            return "it belongs to somebody else"
        if not status.st_mode & stat.S_IWUSR:
            return _READ_ONLY
        if status.st_nlink > 1:
            return "it has a second name (a hard link), which would go its own way"
        return None

    def _no_room(self) -> str | None:
        parent = self.target.parent
        if self.target != self.places.config and not parent.is_dir():
            return "it is a symlink into a directory that does not exist"
        if parent.is_dir() and not os.access(parent, os.W_OK | os.X_OK):
            return f"its directory `{parent}` is read-only"
        return None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Holds off other scratchflows on this machine; other programs know nothing of it."""
        try:
            self.target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.target.parent, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise self.refusal(_words(error), _by_hand(self.places, self.content)) from None
        try:
            # A file system without locks leaves us with the compare-and-swap alone.
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def read_user_file(places: SshPaths) -> UserFile:
    """Looks at the file; only "there is none" counts as empty, every other trouble is refused."""
    target = Path(os.path.realpath(places.config))
    try:
        status = target.stat()
        if stat.S_ISREG(status.st_mode):
            return UserFile(places, target, target.read_bytes(), status)
        reason = "it is a directory" if stat.S_ISDIR(status.st_mode) else "it is not a plain file"
    except FileNotFoundError:
        return UserFile(places, target, None, None)
    except OSError as error:
        reason = f"it cannot be read ({_words(error)})"
    remedy = f"`ls -ld {shlex.quote(str(places.config))}` shows what it is"
    raise SshConfigRefused(path=places.config, reason=reason, remedy=remedy)


def swap(user_file: UserFile, after: bytes | None) -> bool:
    """Replaces what was read by `after`; False when the file is no longer what was read."""
    try:
        if user_file.content is None or user_file.status is None:
            return after is None or _create_whole(user_file.target, after, mode=0o600)
        if after is None:
            return _still_the_same(user_file) and _unlink(user_file.target)
        _create_whole(user_file.places.backup, user_file.content, mode=0o600)
        return _replace(user_file, user_file.status, after)
    except OSError as error:
        raise user_file.refusal(
            _words(error), _by_hand(user_file.places, user_file.content)
        ) from None


def drop_needless_backup(places: SshPaths) -> None:
    """Takes our backup away when it says nothing that the file itself does not."""
    backup = places.backup
    with contextlib.suppress(OSError):
        if not backup.is_symlink() and backup.read_bytes() == places.config.read_bytes():
            backup.unlink()


def _replace(user_file: UserFile, status: os.stat_result, after: bytes) -> bool:
    temp = _temp_beside(user_file.target)
    try:
        write_new(temp, after, mode=stat.S_IMODE(status.st_mode))
        if status.st_gid != temp.stat().st_gid:
            with contextlib.suppress(PermissionError):
                os.chown(temp, -1, status.st_gid)
        if not _still_the_same(user_file):
            return False
        os.replace(temp, user_file.target)
    finally:
        temp.unlink(missing_ok=True)
    fsync_directory(user_file.target.parent)
    return True


def _create_whole(path: Path, content: bytes, *, mode: int) -> bool:
    """Creates a file that must not exist yet, with its whole content; False if it exists."""
    temp = _temp_beside(path)
    try:
        write_new(temp, content, mode=mode)
        _link_or_create(temp, path, content, mode)
    except FileExistsError:
        return False
    finally:
        temp.unlink(missing_ok=True)
    fsync_directory(path.parent)
    return True


def _link_or_create(temp: Path, path: Path, content: bytes, mode: int) -> None:
    try:
        os.link(temp, path)
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP}:
            raise
        # A file system without hard links: still never over an existing file.
        write_new(path, content, mode=mode)


def _still_the_same(user_file: UserFile) -> bool:
    now = read_user_file(user_file.places)
    return (now.target, now.content) == (user_file.target, user_file.content)


def _unlink(path: Path) -> bool:
    path.unlink()
    fsync_directory(path.parent)
    return True


def _temp_beside(path: Path) -> Path:
    return path.with_name(f"{TEMP_PREFIX}{os.urandom(6).hex()}-{path.name}")


def _by_hand(places: SshPaths, content: bytes | None) -> str:
    if content and places.include_line.encode("utf-8", "surrogateescape") in content:
        return "take scratchflow's three lines out of it by hand"
    return f"put this line at its very top by hand: {places.include_line}"


def _words(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
