"""Files that are old or new after a crash, never half.

The promise ends where the file system's own does: `fsync` on a network mount means what its
server makes of it, and some of them cannot fsync a directory at all (EINVAL, tolerated here).
An EIO from any fsync is an error: the data may not be on disk.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

TEMP_PREFIX = ".tmp-"

# What `link` says on a file system that has no hard links.
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


def replace_file(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Makes `path` hold `content`: readers see the old file or the new one, also after a power cut.

    The mode holds whatever the umask. A symlink at `path` is replaced, not followed.
    """
    temp = path.with_name(f"{TEMP_PREFIX}{os.urandom(6).hex()}-{path.name}")
    try:
        write_new(temp, content, mode=mode)
        os.replace(temp, path)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    fsync_directory(path.parent)


def write_new(path: Path, content: bytes, *, mode: int) -> None:
    """Creates a file that must not exist yet, with exactly this mode, and fsyncs it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    try:
        os.fchmod(descriptor, mode)
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish_new(temp: Path, path: Path) -> None:
    """Gives a finished file its final name, which must be free: FileExistsError otherwise.

    On a file system without hard links the name is looked at first and then taken; two processes
    that want the same name in the same instant are told apart only where links exist.
    The name is durable after `fsync_directory`.
    """
    if link_new(temp, path):
        os.unlink(temp)
        return
    if is_there(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    os.rename(temp, path)


def link_new(temp: Path, path: Path) -> bool:
    """Adds a free second name to a file, atomically; False where there are no hard links."""
    try:
        os.link(temp, path, follow_symlinks=False)
    except FileExistsError:
        # NFS may carry a request out, lose the answer and send it again: then the name is ours.
        if not _is_same_file(temp, path):
            raise
    except OSError as error:
        if error.errno in _NO_HARD_LINKS:
            return False
        raise
    return True


def is_there(path: Path) -> bool:
    """Whether something has this name. Unlike `os.path.lexists`, an EIO is not a "no"."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True


def may_be_there(path: Path) -> bool:
    """Whether something has this name. If that cannot be found out, it counts as there."""
    try:
        return is_there(path)
    except NotADirectoryError:
        return False
    except OSError:
        return True


def _is_same_file(one: Path, other: Path) -> bool:
    return os.path.samestat(os.lstat(one), os.lstat(other))


def fsync_directory(directory: Path) -> None:
    """Makes renames inside the directory survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise
    finally:
        os.close(descriptor)
