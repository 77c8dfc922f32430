"""Committing a snapshot: archive first, manifest last, nothing ever overwritten.

Killed at any line, a reader sees the snapshots from before, or those and the new one, whole.
What a killed run leaves is `.tmp-*` and at most one archive without a manifest; `sweep` takes both.
"""

from __future__ import annotations

import os
from contextlib import suppress
from types import TracebackType

import msgspec

from scratchflow.disk.durable import fsync_directory, is_there, publish_new, write_new
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.store import LockLost, StoreUnusable
from scratchflow.model.snapshot import Manifest, encode_manifest
from scratchflow.store.catalogue import needed_archives
from scratchflow.store.commit.archive_file import ArchiveFile
from scratchflow.store.directory import FILE_MODE, StoreDirectory
from scratchflow.store.failures import store_errors
from scratchflow.store.lock.lock import StoreLock


class NewSnapshot:
    """A snapshot in the making: write `file`, then `commit`. Left without a commit, it vanishes.

    with NewSnapshot(lock, snapshot) as new:
        write_archive(new.file)
        manifest = new.commit(manifest)
    """

    def __init__(self, lock: StoreLock, snapshot: str) -> None:
        self.snapshot = snapshot
        self._lock = lock
        self._place = lock.place
        self._archive_is_ours = False
        self.file = ArchiveFile(self._place.temp_archive(snapshot))

    def __enter__(self) -> NewSnapshot:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.file.abandon()
        self._remove_uncommitted_archive()
        if isinstance(error, (StoreUnusable, SnapshotDamaged)):
            self._tell_lost_lock(error)

    def _tell_lost_lock(self, error: ScratchflowError) -> None:
        """Raises LockLost if another run took the lock over and removed what we wrote.

        This run may have slept for hours, stopped or on a suspended machine.
        """
        try:
            self._lock.assert_held()
        except LockLost as lost:
            raise lost from error
        except StoreUnusable:
            return

    def commit(self, manifest: Manifest) -> Manifest:
        """Makes the snapshot durable and visible, and returns its manifest as it was stored.

        `archive_bytes` and `verified` are the store's to say and are filled in here;
        `archive_digest` comes from whoever wrote the bytes, so that the check covers the whole
        way. The archive is read back before it counts: SnapshotDamaged when it is not what was
        written. When this raises, the snapshot is not listed, except after an error once the
        manifest has its name (the last fsync): then it is there, whole, and may not survive a
        power cut.
        """
        if manifest.id != self.snapshot or not self.file.exists:
            raise ValueError("a commit needs written bytes and a manifest of the same id")
        stored = msgspec.structs.replace(manifest, archive_bytes=self.file.tell(), verified=True)
        self._publish_archive()
        self.file.require_read_back(self.snapshot, manifest.archive_digest)
        publish_manifest(self._lock, stored, encode_manifest(stored))
        return stored

    def _publish_archive(self) -> None:
        self.file.finish()
        with store_errors(self._place.archive(self.snapshot)):
            publish_new(self._place.temp_archive(self.snapshot), self._place.archive(self.snapshot))
            self._archive_is_ours = True
            fsync_directory(self._place.directory)

    def _remove_uncommitted_archive(self) -> None:
        """Removes the archive we put there, unless a manifest names it or that cannot be known."""
        with suppress(OSError):
            if self._archive_is_ours and not is_there(self._place.manifest(self.snapshot)):
                os.unlink(self._place.archive(self.snapshot))


def publish_manifest(
    lock: StoreLock, manifest: Manifest, content: bytes, *, in_place_of_damaged: bool = False
) -> None:
    """Makes a snapshot visible whose archives are all in place, durably; LockLost when one is gone, or another one.

    Nothing is replaced, unless its manifest is there and damaged, and whoever holds the lock has seen that.
    """
    place = lock.place
    # Asked before the lock: while it is held nobody removes or rewrites an archive.
    needed = _required_archives(place, manifest)
    lock.assert_held()
    temp, final = place.temp_manifest(manifest.id), place.manifest(manifest.id)
    with store_errors(final):
        try:
            write_new(temp, content, mode=FILE_MODE)
            if in_place_of_damaged:
                os.replace(temp, final)
            else:
                publish_new(temp, final)
        except BaseException:
            with suppress(OSError):
                os.unlink(temp)
            raise
        fsync_directory(place.directory)
    _withdraw_if_swept(place, manifest, needed)


def _required_archives(
    place: StoreDirectory, manifest: Manifest, before: dict[str, int] | None = None
) -> dict[str, int]:
    """How long the archives are that this snapshot reads from; LockLost when one is gone, or other than before.

    While the lock is held nobody removes or rewrites one, so that means that it was not.
    """
    sizes = {}
    for needed in sorted(needed_archives(manifest)):
        with store_errors(place.archive(needed)):
            if not is_there(place.archive(needed)):
                reason = f"the archive `{needed}` was removed meanwhile"
                raise LockLost(reason=reason)
            sizes[needed] = os.stat(place.archive(needed)).st_size
    if before is not None and sizes != before:
        raise LockLost(reason="an archive was rewritten meanwhile")
    return sizes


def _withdraw_if_swept(place: StoreDirectory, manifest: Manifest, needed: dict[str, int]) -> None:
    """Looks once more after the rename: this run may have slept for hours just before it."""
    try:
        _required_archives(place, manifest, needed)
    except LockLost:
        with store_errors(place.manifest(manifest.id)):
            os.unlink(place.manifest(manifest.id))
        raise
