"""The file an archive is written into: made on the first byte, never half.

To the store an archive is bytes; who writes them sees `write` and `tell` and nothing else.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from scratchflow.disk.direct import DirectAppend
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.store.commit.read_back import ReadBack
from scratchflow.store.directory import FILE_MODE
from scratchflow.store.failures import store_errors


class ArchiveFile:
    """An append-only file under a temporary name. Its errors are the store's, already translated.

    One thread writes. Nothing exists on disk before the first byte, so that a backup which finds
    nothing changed leaves nothing behind.
    """

    def __init__(self, temp: Path) -> None:
        self._temp = temp
        self._descriptor: int | None = None
        self._out: DirectAppend | None = None
        self._created = False
        self._written_bytes = 0
        self._read_back: ReadBack | None = None

    @property
    def exists(self) -> bool:
        """Whether a first byte was written."""
        return self._created

    def tell(self) -> int:
        """How many bytes were written, as far as the caller is concerned."""
        return self._written_bytes

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Writes all of it, or raises NoSpace or StoreUnusable."""
        view = memoryview(data).cast("B")
        if not view:
            return 0
        with store_errors(self._temp):
            out = self._out if self._created else self._create()
            if out is None:
                raise ValueError("write after the end")
            out.append(view)
        self._written_bytes += len(view)
        if self._read_back is not None:
            self._read_back.note_written(out.written_bytes)
        return len(view)

    def finish(self) -> None:
        """Makes the bytes durable and closes the file. A quota on NFS may speak up only here."""
        if self._descriptor is None or self._out is None:
            return
        with store_errors(self._temp):
            self._out.flush()
            os.fsync(self._descriptor)
            descriptor, self._descriptor, self._out = self._descriptor, None, None
            os.close(descriptor)

    def require_read_back(self, snapshot: str, digest: str) -> None:
        """Raises SnapshotDamaged unless what the store gives back has this digest, which whoever made the bytes knows."""
        if self._read_back is None:
            raise ValueError("nothing was written")
        with store_errors(self._temp):
            found = self._read_back.finish(self._written_bytes)
        if found != digest:
            reason = "the archive does not read back as it was written"
            raise SnapshotDamaged(snapshot=snapshot, reason=reason)

    def abandon(self) -> None:
        """Closes and removes what is there. Never fails: what stays is swept later."""
        if self._read_back is not None:
            with suppress(OSError):
                self._read_back.close()
        if self._descriptor is not None:
            descriptor, self._descriptor, self._out = self._descriptor, None, None
            with suppress(OSError):
                os.close(descriptor)
        if self._created:  # a file of that name that we did not make is not ours to remove
            with suppress(OSError):
                os.unlink(self._temp)

    def _create(self) -> DirectAppend:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = self._descriptor = os.open(self._temp, flags, FILE_MODE)
        self._created = True
        os.fchmod(descriptor, FILE_MODE)
        self._read_back = ReadBack(self._temp)
        self._out = DirectAppend(descriptor)
        return self._out
