"""Whether a file on disk has the content that an index has for it: read, and compared by digest."""

from __future__ import annotations

import os
import stat

from scratchflow.archive.files.digest import digest_of_file, read_buffer
from scratchflow.archive.tree.index import Index
from scratchflow.archive.tree.tree import is_same_mode

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class OnDisk:
    """Compares files beneath a directory with the entries of one index."""

    def __init__(self, index: Index, scratch: bytes) -> None:
        self._index = index
        self._scratch = scratch
        self._buffer = read_buffer()

    def path(self, path: bytes) -> bytes:
        """Where a path of the index is."""
        return os.path.join(self._scratch, path)

    def has_content(self, entry: int) -> bool:
        """Whether a regular file has it; OSError when it may not be read, or is gone. Of a sparse one nothing is said."""
        index, path = self._index, self.path(self._index.path(entry))
        found = os.lstat(path)
        is_comparable = stat.S_ISREG(found.st_mode) and entry not in index.sparse
        if not is_comparable or found.st_size != index.size[entry]:
            return False
        descriptor = os.open(path, _OPEN)
        try:
            return digest_of_file(descriptor, index.seed, self._buffer) == index.digest_of(entry)
        finally:
            os.close(descriptor)

    def has_stamps(self, entry: int) -> bool:
        """Whether mode and mtime are those of the index; OSError when it is gone."""
        found = os.lstat(self.path(self._index.path(entry)))
        same_mode = is_same_mode(found.st_mode, self._index.mode[entry])
        return same_mode and found.st_mtime_ns == self._index.mtime_ns[entry]
