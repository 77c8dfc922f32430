"""The commit: whole or not at all, and every error of the store reaches the user."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.disk.direct import BUFFER_BYTES
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.store import LockLost, NoSpace, StoreUnusable
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.commit import read_back
from scratchflow.store.commit.commit import NewSnapshot
from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.store.lock.lock import StoreLock
from scratchflow.testing.store import (
    commit_bytes,
    make_id,
    make_lock,
    make_manifest,
    verify_archive,
)


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    return open_place(tmp_path / "store", "work")


@pytest.fixture
def lock(place: StoreDirectory) -> Iterator[StoreLock]:
    with make_lock(place).acquired() as lock:
        yield lock


def names(place: StoreDirectory) -> set[str]:
    return set(os.listdir(place.directory)) - {"lock.d"}


def test_a_commit_is_listed_and_reads_back(place: StoreDirectory, lock: StoreLock) -> None:
    stored = commit_bytes(lock, make_id(), b"archive")
    assert read_catalogue(place).snapshots == (stored,)
    assert stored.archive_bytes == 7
    assert stored.archive_digest == WholeDigest().text(b"archive")
    assert stored.verified
    assert place.archive(make_id()).read_bytes() == b"archive"
    assert names(place) == {f"{make_id()}.tar.lz4", f"{make_id()}.json"}


def test_an_unchanged_backup_leaves_nothing(place: StoreDirectory, lock: StoreLock) -> None:
    with NewSnapshot(lock, make_id()) as new:
        new.file.write(b"")
        assert names(place) == set()
    assert names(place) == set()


def test_a_failed_backup_leaves_nothing(place: StoreDirectory, lock: StoreLock) -> None:
    def fail() -> None:
        with NewSnapshot(lock, make_id()) as new:
            new.file.write(b"half")
            assert names(place) == {f".tmp-{make_id()}.tar.lz4"}
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert names(place) == set()


def test_an_error_of_the_source_passes_through_untranslated(
    place: StoreDirectory, lock: StoreLock
) -> None:
    def fail() -> None:
        with NewSnapshot(lock, make_id()) as new:
            new.file.write(b"half")
            raise OSError(errno.ENOSPC, "from the workspace, not from the store")

    with pytest.raises(OSError, match="from the workspace"):
        fail()
    assert names(place) == set()


def test_an_id_is_never_used_twice(place: StoreDirectory, lock: StoreLock) -> None:
    commit_bytes(lock, make_id(), b"first")
    with pytest.raises(StoreUnusable, match="exists"):
        commit_bytes(lock, make_id(), b"second")
    assert place.archive(make_id()).read_bytes() == b"first"
    assert len(read_catalogue(place).snapshots) == 1
    assert names(place) == {f"{make_id()}.tar.lz4", f"{make_id()}.json"}


@pytest.mark.parametrize("there", ["temp_archive", "archive", "manifest"])
def test_a_file_in_the_way_is_neither_overwritten_nor_removed(
    place: StoreDirectory, lock: StoreLock, there: str
) -> None:
    path: Path = getattr(place, there)(make_id())
    path.write_bytes(b"somebody else's")
    with pytest.raises(StoreUnusable):
        commit_bytes(lock, make_id(), b"mine")
    assert path.read_bytes() == b"somebody else's"


def test_bytes_that_do_not_read_back_are_not_committed(
    place: StoreDirectory, lock: StoreLock
) -> None:
    with NewSnapshot(lock, make_id()) as new:
        new.file.write(b"written")
        new.file.finish()
        place.temp_archive(make_id()).write_bytes(b"flipped")
        with pytest.raises(SnapshotDamaged, match="does not read back"):
            new.commit(make_manifest(make_id(), archive_digest=WholeDigest().text(b"written")))
    assert names(place) == set()


def test_damage_to_an_early_piece_of_a_large_archive_is_found(
    place: StoreDirectory, lock: StoreLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_back, "PIECE_BYTES", 2 * BUFFER_BYTES)  # the first waits for more
    with NewSnapshot(lock, make_id()) as new:
        new.file.write(b"a" * BUFFER_BYTES)
        with open(place.temp_archive(make_id()), "r+b") as file:
            file.write(b"b")
        for _ in range(5):
            new.file.write(b"a" * BUFFER_BYTES)
        digest = WholeDigest().text(b"a" * 6 * BUFFER_BYTES)
        with pytest.raises(SnapshotDamaged, match="does not read back"):
            new.commit(make_manifest(make_id(), archive_digest=digest))
    assert names(place) == set()


def test_a_large_archive_is_read_back_while_it_is_written(
    place: StoreDirectory, lock: StoreLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_back, "PIECE_BYTES", 1000)
    stored = commit_bytes(lock, make_id(), os.urandom(3 * BUFFER_BYTES + 1))
    verify_archive(place, stored)


def test_a_lost_lock_stops_the_commit(place: StoreDirectory, lock: StoreLock) -> None:
    with NewSnapshot(lock, make_id()) as new:
        new.file.write(b"bytes")
        place.lock.rename(place.directory / "taken")
        with pytest.raises(LockLost):
            new.commit(make_manifest(make_id(), archive_digest=WholeDigest().text(b"bytes")))
    assert names(place) == {"taken"}


def test_a_run_that_slept_while_another_one_took_over_says_that_it_lost_the_store(
    place: StoreDirectory, lock: StoreLock
) -> None:
    """The other one sweeps away the archive that is half written, and may be done by then."""
    new = NewSnapshot(lock, make_id())
    new.file.write(b"bytes")
    place.lock.rename(place.directory / "taken")
    place.temp_archive(make_id()).unlink()
    with (
        make_lock(place).acquired(),
        pytest.raises(LockLost, match="taken over"),
        new,
    ):
        new.commit(make_manifest(make_id()))
    assert names(place) == {"taken"}


def test_a_store_that_fails_while_the_lock_is_held_or_unknown_is_told_as_that(
    place: StoreDirectory, lock: StoreLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = NewSnapshot(lock, make_id())
    new.file.write(b"bytes")
    place.temp_archive(make_id()).unlink()
    with pytest.raises(StoreUnusable, match="No such file"), new:
        new.commit(make_manifest(make_id()))
    monkeypatch.setattr(os, "link", raising(errno.EIO))
    monkeypatch.setattr(os, "listdir", raising(errno.EIO))
    with pytest.raises(StoreUnusable, match="Input/output"):
        commit_bytes(lock, make_id(1), b"bytes")


def test_a_needed_archive_that_is_gone_stops_the_commit(
    place: StoreDirectory, lock: StoreLock
) -> None:
    with pytest.raises(LockLost, match="removed meanwhile"):
        commit_bytes(lock, make_id(30), b"bytes", needs=[make_id(0)])
    assert names(place) == set()


def test_a_commit_that_slept_before_its_rename_is_withdrawn_when_it_was_swept(
    place: StoreDirectory, lock: StoreLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.link

    def sleep_before(source: Path, target: Path, **options: Any) -> None:
        if target == place.manifest(make_id()):
            place.archive(make_id()).unlink()
        real(source, target, **options)

    monkeypatch.setattr(os, "link", sleep_before)
    with pytest.raises(LockLost):
        commit_bytes(lock, make_id(), b"bytes")
    assert names(place) == set()


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP])
def test_a_file_system_without_hard_links_works_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(os, "link", raising(number))
    place = open_place(tmp_path / "linkless", "work")
    with make_lock(place).acquired() as lock:
        commit_bytes(lock, make_id(), b"bytes")
        with pytest.raises(StoreUnusable):
            commit_bytes(lock, make_id(), b"again")
    assert len(read_catalogue(place).snapshots) == 1
    assert names(place) == {f"{make_id()}.tar.lz4", f"{make_id()}.json"}
    assert not place.lock.exists()


def test_a_commit_needs_bytes_and_its_own_manifest(lock: StoreLock) -> None:
    with NewSnapshot(lock, make_id()) as new:
        with pytest.raises(ValueError, match="same id"):
            new.commit(make_manifest(make_id()))
        new.file.write(b"bytes")
        with pytest.raises(ValueError, match="same id"):
            new.commit(make_manifest(make_id(5)))


def raising(number: int) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def error_of_commit(lock: StoreLock, snapshot: str) -> ScratchflowError | None:
    try:
        commit_bytes(lock, snapshot, b"content")
    except (NoSpace, StoreUnusable) as error:
        return error
    return None


STORE_CALLS = ("open", "write", "fsync", "fchmod", "link", "unlink", "close", "lstat")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("name", STORE_CALLS)
def test_no_error_of_the_store_is_swallowed_and_none_costs_a_snapshot(
    place: StoreDirectory, lock: StoreLock, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    """Each call of each kind fails once, in its turn, until a commit gets through untouched."""
    before = commit_bytes(lock, make_id(), b"before")
    real = getattr(os, name)
    for turn in range(1, 100):
        seen = 0

        def fail_once(*args: Any, _turn: int = turn, **options: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == _turn:
                raise OSError(number, os.strerror(number))
            return real(*args, **options)

        snapshot = make_id(turn)
        with monkeypatch.context() as patched:
            patched.setattr(os, name, fail_once)
            error = error_of_commit(lock, snapshot)
        if error is not None:
            assert isinstance(error, NoSpace) == (number in {errno.ENOSPC, errno.EDQUOT})
        listed = read_catalogue(place)
        assert listed.snapshots[0] == before
        assert listed.damaged == {}
        verify_archive(place, before)
        if seen < turn:
            assert error is None
            return
        if error is None:
            # The call that failed was one whose failure harms nothing, like giving up a temp.
            assert any(one.id == snapshot for one in listed.snapshots)
    pytest.fail("no commit got through")
