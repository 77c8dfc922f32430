"""Archives on their way from another store: nothing of them counts before it is whole, and nothing stays for ever."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.archive.read.own_digest import footer_of
from scratchflow.model.errors.agent import StreamBroken
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.store import EmptyStoreFull, NoSpace
from scratchflow.model.requests import ArchiveOf
from scratchflow.store.commit import arriving
from scratchflow.store.commit.arriving import (
    Arriving,
    adopt,
    arrived_bytes,
    has_arrived,
    nothing_to_prune,
    room_bytes,
)
from scratchflow.store.directory import StoreDirectory
from scratchflow.store.retention.sweep import ARRIVING_KEPT_S
from scratchflow.testing.store import make_lock
from tests.unit.conftest import Desk

ID = "20261115T103000Z-570643"
CONTENT = b"some bytes of an archive"
ARCHIVE = ArchiveOf(ID, len(CONTENT), WholeDigest().text(CONTENT))


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    return StoreDirectory(tmp_path)


def names(place: StoreDirectory) -> list[str]:
    return sorted(os.listdir(place.arriving))


def test_one_that_is_whole_gets_its_name(place: StoreDirectory) -> None:
    assert Arriving(place, ARCHIVE, 0).take(iter([CONTENT[:5], b"", CONTENT[5:]])) == ARCHIVE
    assert names(place) == [f"{ID}.tar.lz4"]
    assert has_arrived(place, ARCHIVE)


def test_one_that_changed_while_it_waited_has_not_arrived(place: StoreDirectory) -> None:
    Arriving(place, ARCHIVE, 0).take(iter([CONTENT]))
    (place.arriving / f"{ID}.tar.lz4").write_bytes(CONTENT[:-1] + b"X")
    assert not has_arrived(place, ARCHIVE)
    assert arrived_bytes(place, ARCHIVE) == 0
    assert Arriving(place, ARCHIVE, 0).take(iter([CONTENT])) == ARCHIVE
    assert has_arrived(place, ARCHIVE)


def test_a_part_is_kept_and_taken_up(place: StoreDirectory) -> None:
    with pytest.raises(StreamBroken):
        Arriving(place, ARCHIVE, 0).take(iter([CONTENT[:5]]))
    assert arrived_bytes(place, ARCHIVE) == 5
    assert Arriving(place, ARCHIVE, 5).take(iter([CONTENT[5:]])) == ARCHIVE


def test_one_without_room_for_all_that_its_snapshot_needs_is_refused_unread(
    place: StoreDirectory,
) -> None:
    room = os.statvfs(place.directory)
    too_much = room.f_blocks * room.f_frsize + 1
    pieces = iter([CONTENT])
    with pytest.raises(NoSpace, match=r"would come, and there is room for "):
        Arriving(place, ARCHIVE, 0, needed_bytes=too_much).take(pieces)
    assert (names(place), next(pieces)) == ([], CONTENT)


def test_the_room_of_a_store_that_is_not_there_yet_is_that_of_its_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tmpfs(directory: Path) -> os.statvfs_result:
        if directory != tmp_path:
            raise FileNotFoundError
        return os.statvfs_result((4096, 4096, 5120, 5120, 5120, 0, 0, 0, 0, 255))

    monkeypatch.setattr("scratchflow.store.commit.arriving.os.statvfs", tmpfs)
    assert room_bytes(StoreDirectory(tmp_path / "store/work")) == 19 << 20


def test_a_file_system_that_does_not_say_how_large_it_is_may_have_room(
    place: StoreDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = os.statvfs_result((0,) * 10)
    monkeypatch.setattr("scratchflow.store.commit.arriving.os.fstatvfs", lambda _: nothing)
    assert Arriving(place, ARCHIVE, 0).take(iter([CONTENT])) == ARCHIVE


def test_what_arrived_of_one_that_does_not_fit_is_gone(
    place: StoreDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, piece: bytes) -> None:
        os.write(descriptor, piece[:5])
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr(arriving, "_write_all", full)
    with pytest.raises(NoSpace):
        Arriving(place, ARCHIVE, 0).take(iter([CONTENT]))
    assert names(place) == []


@pytest.mark.parametrize(
    ("count", "error"), [(0, EmptyStoreFull), (1, EmptyStoreFull), (2, NoSpace)]
)
def test_no_prune_is_advised_where_the_only_snapshot_always_stays(
    place: StoreDirectory, count: int, error: type[NoSpace]
) -> None:
    for number in range(count):
        place.manifest(f"20261115T09300{number}Z-3f2a9c").touch()
    with pytest.raises(NoSpace) as caught, nothing_to_prune(place):
        raise NoSpace(path=place.directory, reason="No space left on device")
    assert type(caught.value) is error
    assert ("snapshots prune" in caught.value.shown_hint) == (count == 2)


def test_of_an_archive_with_no_known_digest_nothing_is_taken_up(place: StoreDirectory) -> None:
    unknown = ArchiveOf(ID, len(CONTENT))
    with pytest.raises(StreamBroken):
        Arriving(place, unknown, 0).take(iter([CONTENT[:5]]))
    assert arrived_bytes(place, unknown) == 0
    assert Arriving(place, unknown, 0).take(iter([CONTENT])) == ARCHIVE


def test_one_of_unknown_size_ends_where_its_bytes_end(place: StoreDirectory) -> None:
    assert Arriving(place, ArchiveOf(ID), 0).take(iter([CONTENT])) == ARCHIVE


@pytest.mark.parametrize("content", [CONTENT + b"x", CONTENT[:-1] + b"X"], ids=["long", "other"])
def test_other_bytes_are_refused_and_go(place: StoreDirectory, content: bytes) -> None:
    with pytest.raises(SnapshotDamaged):
        Arriving(place, ARCHIVE, 0).take(iter([content]))
    assert names(place) == []


@pytest.mark.parametrize("changed", [False, True])
def test_one_whose_manifest_is_gone_is_compared_with_the_digest_in_its_footer(
    desk: Desk, *, changed: bool
) -> None:
    snapshot = desk.backup().snapshot or ""
    content = bytearray(desk.place.archive(snapshot).read_bytes())
    archive = ArchiveOf(
        snapshot, len(content), own_digest=footer_of(desk.place.archive(snapshot)).content_digest
    )
    arriving = Arriving(desk.place, archive, 0)
    if not changed:
        arriving.take(iter([bytes(content)]))
        assert has_arrived(desk.place, archive)
        return
    content[2000] ^= 1
    with pytest.raises(SnapshotDamaged, match="its own digest"):
        arriving.take(iter([bytes(content)]))
    assert names(desk.place) == []


def test_a_name_that_is_no_id_reaches_no_file(place: StoreDirectory) -> None:
    with pytest.raises(ValueError, match="not a snapshot id"):
        Arriving(place, ArchiveOf("../../x", 1), 0).take(iter([b"x"]))


def test_what_nobody_takes_up_goes_after_a_week(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.backup()
    with pytest.raises(StreamBroken):
        Arriving(desk.place, ARCHIVE, 0).take(iter([CONTENT[:5]]))
    desk.backup()
    assert names(desk.place) == [f"{ID}.part"]
    later = time.time() + ARRIVING_KEPT_S + 60
    monkeypatch.setattr(time, "time", lambda: later)
    desk.backup()
    assert names(desk.place) == []


def test_a_snapshot_is_not_adopted_when_an_archive_that_lay_here_was_rewritten_meanwhile(
    desk: Desk,
) -> None:
    place = desk.place
    needed = "20261115T093000Z-aaaaaa"
    lay_here = ArchiveOf(needed, 1000, "0" * 64)
    desk.backup()
    Arriving(place, ARCHIVE, 0).take(iter([CONTENT]))
    with make_lock(place).acquired() as lock:
        place.archive(needed).write_bytes(bytes(999))
        with pytest.raises(StreamBroken, match="changed there"):
            adopt(lock, [lay_here, ARCHIVE], same=frozenset())
        assert not place.archive(ID).exists()
        place.archive(needed).write_bytes(bytes(1000))
        assert adopt(lock, [lay_here, ARCHIVE], same=frozenset()) == [ID]
    assert place.archive(ID).read_bytes() == CONTENT


@pytest.mark.parametrize("is_same", [True, False])
def test_only_one_that_the_store_means_as_well_goes_in_place_of_the_one_here(
    desk: Desk, *, is_same: bool
) -> None:
    place = desk.place
    desk.backup()
    Arriving(place, ARCHIVE, 0).take(iter([CONTENT]))
    damaged = CONTENT[::-1]
    place.archive(ID).write_bytes(damaged)
    with make_lock(place).acquired() as lock:
        found = adopt(lock, [ARCHIVE], same=frozenset([ID] if is_same else []))
    assert found == ([ID] if is_same else [])
    assert place.archive(ID).read_bytes() == (CONTENT if is_same else damaged)
