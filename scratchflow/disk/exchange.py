"""Renames that never destroy what they meet: two names swapped, or a name taken only if it is free.

Linux can do both in one step (`renameat2`), on most local file systems. Elsewhere `exchange` says that
it cannot, and `rename_free` uses a hard link, which is as strict. Only where there are no hard links
either, and for directories, it looks first and renames then.
"""

from __future__ import annotations

import errno
import os
import stat
from functools import cache
from typing import Any

_NO_REPLACE = 1
_EXCHANGE = 2
# How a kernel or a file system says that it does not know the flag.
_UNKNOWN = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def exchange(one: bytes, other: bytes, directory: int) -> bool:
    """Swaps two names of an open directory in one step; False, and nothing done, where none can.

    Whoever watches the directory hears last that something came to `other`. In the other order it is last
    that something left it: editors take that for a deletion, and keep showing the old text.
    """
    return _renameat2(other, one, directory, _EXCHANGE, named=other)


def rename_free(name: bytes, free: bytes, directory: int) -> None:
    """Renames within an open directory; FileExistsError when something has the new name."""
    if _renameat2(name, free, directory, _NO_REPLACE, named=free):
        return
    is_directory = stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    if not is_directory and _link(name, free, directory):
        os.unlink(name, dir_fd=directory)
        return
    if _is_there(free, directory):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    os.rename(name, free, src_dir_fd=directory, dst_dir_fd=directory)


def _link(name: bytes, free: bytes, directory: int) -> bool:
    try:
        os.link(name, free, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        if error.errno in _NO_HARD_LINKS:
            return False
        raise
    return True


def _is_there(name: bytes, directory: int) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _renameat2(old: bytes, new: bytes, directory: int, flags: int, *, named: bytes) -> bool:
    """Whether the system could do it; an OSError, which has the name `named`, says that it could and failed."""
    call = _system_call()
    if call is None:
        return False
    failed = call(directory, old, directory, new, flags)
    if failed == 0:
        return True
    if failed in _UNKNOWN:
        return False
    raise OSError(failed, os.strerror(failed), os.fsdecode(named))


@cache
def _system_call() -> Any:
    """`renameat2` as a function that returns the error's number; None where there is none."""
    import ctypes  # takes a while, and most commands replace nothing

    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return None
    text, number = ctypes.c_char_p, ctypes.c_int
    function.argtypes = [number, text, number, text, ctypes.c_uint]

    def call(*arguments: Any) -> int:
        return ctypes.get_errno() if function(*arguments) else 0

    return call
