"""Files that are old or new after a crash, never half.

The promise ends where the file system's own does: `fsync` on a network mount means what its
server makes of it, and some of them cannot fsync a directory at all (EINVAL, tolerated here).
An EIO from any fsync is an error: the data may not be on disk.
"""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

TEMP_PREFIX = ".tmp-"


def replace_file(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Makes `path` hold `content`: readers see the old file or the new one, also after a power cut.

    The mode holds whatever the umask. A symlink at `path` is replaced, not followed.
    """
    temp = path.with_name(f"{TEMP_PREFIX}{secrets.token_hex(6)}-{path.name}")
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
