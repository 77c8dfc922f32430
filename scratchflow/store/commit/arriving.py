"""Archives on their way from another store: `arriving/<id>.part`, and `arriving/<id>.tar.lz4` once they are whole.

Nothing of it counts until `adopt` gives every archive of a snapshot its name, and its manifest after them. What a
broken copy left is taken up by the next one; `sweep` removes it after a week. When the store is full, it goes at once.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from scratchflow.archive.read.own_digest import ArchiveDigest
from scratchflow.disk.durable import fsync_directory, is_there, publish_new
from scratchflow.model.errors.agent import StreamBroken
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.store import EmptyStoreFull, NoSpace, too_much
from scratchflow.model.errors.transfer import CopyUnderWay
from scratchflow.model.requests import ArchiveOf
from scratchflow.model.snapshot import is_snapshot_id
from scratchflow.store.commit.reserve import ensure_reserve
from scratchflow.store.directory import (
    ARCHIVE_SUFFIX,
    FILE_MODE,
    StoreDirectory,
    make_private_directory,
)
from scratchflow.store.failures import store_errors
from scratchflow.store.identity import count_snapshots
from scratchflow.store.lock.lock import StoreLock

_PART_SUFFIX = ".part"
_READ_BYTES = 1 << 20
# For the reserve, and what a snapshot needs besides its archives.
_LEFT_BYTES = 1 << 20
_NO_LOCKS_HERE = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}


def arrived_bytes(place: StoreDirectory, archive: ArchiveOf) -> int:
    """How much of it can be taken up again of what an earlier run left half.

    Nothing of one whose digest nobody knows: what is there could be of another archive.
    """
    part = _size(_part(place, archive.id)) or 0
    return part if _has_digest(archive) and part <= archive.bytes else 0


def has_arrived(place: StoreDirectory, archive: ArchiveOf) -> bool:
    """Whether it is there as a whole. It is read again: it may have waited for days since it was compared."""
    file = _whole(place, archive.id)
    if not archive.bytes or not _has_digest(archive) or _size(file) != archive.bytes:
        return False
    return is_that(digest_of(file, _known(archive)), archive)


def is_that(found: ArchiveDigest, archive: ArchiveOf) -> bool:
    """Whether what was read is this archive, by all that is known of it."""
    return (
        archive.bytes in {0, found.size_bytes}
        and archive.digest in {"", found.digest}
        and archive.own_digest in {"", found.own_digest}
    )


class Arriving(msgspec.Struct, frozen=True):
    """An archive that is being written, from `offset` on."""

    place: StoreDirectory
    archive: ArchiveOf
    offset: int
    # This one and those that come after it for the same snapshot: without room for all, none is begun.
    needed_bytes: int = 0

    def take(self, pieces: Iterator[bytes]) -> ArchiveOf:
        """Writes what comes, and returns size and digest of the whole as the store reads it back.

        StreamBroken when not all came: what did come stays. SnapshotDamaged when it is not the archive that was
        meant, and NoSpace when it does not fit: then nothing stays.
        """
        part = _part(self.place, self.archive.id)
        with (
            nothing_to_prune(self.place),
            store_errors(self.place.directory),
            _alone(part, self.archive.id) as descriptor,
        ):
            os.ftruncate(descriptor, self.offset)
            os.lseek(descriptor, self.offset, os.SEEK_SET)
            with _gone_when_full(self.place, part):
                needed_bytes = max(self.needed_bytes, self.archive.bytes - self.offset)
                _require_room(self.place, descriptor, needed_bytes)
                ensure_reserve(self.place)
                for piece in pieces:
                    _write_all(descriptor, piece)
                os.fsync(descriptor)
            size = os.fstat(descriptor).st_size
            wanted = self.archive.bytes or size
            if size < wanted:
                raise StreamBroken(reason=f"{size} of {wanted} bytes came")
            found = _digest(descriptor, _known(self.archive))
            if not is_that(found, self.archive):
                os.unlink(part)
                meant = "the digest in its manifest" if self.archive.digest else "its own digest"
                reason = f"what arrived does not match {meant}"
                raise SnapshotDamaged(snapshot=self.archive.id, reason=reason)
            os.replace(part, _whole(self.place, self.archive.id))
            fsync_directory(self.place.arriving)
            return ArchiveOf(self.archive.id, size, found.digest, found.own_digest)


def adopt(lock: StoreLock, archives: list[ArchiveOf], same: frozenset[str]) -> list[str]:
    """Gives the archives that arrived their names; their manifest follows. Killed before it, `sweep` takes them.

    One of `same`, which this store means as well, goes in place of the one here, which was damaged. Returns those that
    were not here before as they are now.
    """
    place = lock.place
    placed = []
    for archive in archives:
        final, arrived = place.archive(archive.id), _whole(place, archive.id)
        with store_errors(final):
            if archive.id in same and _size(arrived) == archive.bytes:
                os.replace(arrived, final)
                placed.append(archive.id)
            elif is_there(final):
                # Of an archive whose snapshot is gone, what nobody needs may have been given up meanwhile.
                _require_size(final, archive)
            else:
                _require_size(arrived, archive)
                publish_new(arrived, final)
                placed.append(archive.id)
    with store_errors(place.directory):
        fsync_directory(place.directory)
    return placed


def lying_bytes(place: StoreDirectory, archives: Collection[str]) -> int:
    """How much room those of these take that are whole and count for nothing yet."""
    return sum(_size(_whole(place, one)) or 0 for one in archives)


def give_up(lock: StoreLock, archives: Collection[str]) -> int:
    """Removes those of these that are whole and count for nothing yet; returns their bytes.

    Another run that relies on one of them is told at its end that it is not there, and sends it when it is run again.
    """
    lock.assert_held()
    freed_bytes = 0
    for archive in archives:
        file = _whole(lock.place, archive)
        size_bytes = _size(file)
        if size_bytes is not None:
            with store_errors(file):
                os.unlink(file)
            freed_bytes += size_bytes
    return freed_bytes


@contextmanager
def nothing_to_prune(place: StoreDirectory) -> Iterator[None]:
    """Says of a full store without snapshots, or with the one that always stays, what helps there."""
    try:
        yield
    except NoSpace as error:
        if count_snapshots(place) > 1:
            raise
        raise EmptyStoreFull(path=place.directory, reason=error.fields["reason"]) from error


@contextmanager
def _gone_when_full(place: StoreDirectory, part: Path) -> Iterator[None]:
    """Gives the room back that a part has taken which does not fit: the backups of this store need it."""
    try:
        with store_errors(place.directory):
            yield
    except NoSpace:
        with store_errors(part):
            os.unlink(part)
        raise


def _require_room(place: StoreDirectory, descriptor: int, needed_bytes: int) -> None:
    """NoSpace when the file system has too little, before anything is sent. A quota shows itself only when it is reached."""
    free_bytes = _free_bytes(os.fstatvfs(descriptor))
    if free_bytes is not None and needed_bytes > free_bytes:
        raise NoSpace(path=place.directory, reason=too_much(needed_bytes, free_bytes))


def room_bytes(place: StoreDirectory) -> int | None:
    """How much may come into this store, which need not be there yet; None when its file system does not say."""
    with store_errors(place.directory):
        for directory in (place.directory, *place.directory.parents):
            with suppress(FileNotFoundError):
                return _free_bytes(os.statvfs(directory))
    return None


def _free_bytes(room: os.statvfs_result) -> int | None:
    if not room.f_blocks:  # some file systems do not say how large they are
        return None
    return max(0, room.f_bavail * room.f_frsize - _LEFT_BYTES)


def digest_of(file: Path, known: Iterable[str] = ()) -> ArchiveDigest:
    """Of the whole file, to be compared with these."""
    with store_errors(file):
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            return _digest(descriptor, known)
        finally:
            os.close(descriptor)


def _require_size(file: Path, archive: ArchiveOf) -> None:
    if _size(file) != archive.bytes:
        reason = f"the archive `{archive.id}` has not arrived, or was changed there meanwhile"
        raise StreamBroken(reason=reason)


@contextmanager
def _alone(part: Path, archive: str) -> Iterator[int]:
    """The file, opened for this process alone; CopyUnderWay when another one writes it."""
    make_private_directory(part.parent)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(part, flags, FILE_MODE)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CopyUnderWay(archive=archive) from None
        except OSError as error:
            # Without locks two copies may write into one file: its digest then says so.
            if error.errno not in _NO_LOCKS_HERE:
                raise
        yield descriptor
    finally:
        with suppress(OSError):
            os.close(descriptor)


def _digest(descriptor: int, known: Iterable[str]) -> ArchiveDigest:
    digest = ArchiveDigest(known)
    while piece := os.pread(descriptor, _READ_BYTES, digest.size_bytes):
        digest.update(piece)
    return digest


def _known(archive: ArchiveOf) -> tuple[str, str]:
    return archive.digest, archive.own_digest


def _has_digest(archive: ArchiveOf) -> bool:
    return any(_known(archive))


def _write_all(descriptor: int, piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _size(file: Path) -> int | None:
    with store_errors(file):
        try:
            return os.lstat(file).st_size
        except FileNotFoundError:
            return None


def _part(place: StoreDirectory, archive: str) -> Path:
    return place.arriving / f"{_checked(archive)}{_PART_SUFFIX}"


def _whole(place: StoreDirectory, archive: str) -> Path:
    return place.arriving / f"{_checked(archive)}{ARCHIVE_SUFFIX}"


def _checked(archive: str) -> str:
    if not is_snapshot_id(archive):
        raise ValueError(f"not a snapshot id: {archive!r}")
    return archive
