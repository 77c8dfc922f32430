"""The catalogue: everything readable is listed, everything else is named, nothing crashes."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from scratchflow.model.errors.snapshots import LatestUnreadable, SnapshotDamaged, SnapshotUnreadable
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.snapshot import Manifest, encode_manifest, seal_manifest
from scratchflow.store.catalogue import Catalogue, fresh_id, newest_listed, read_catalogue
from scratchflow.store.directory import StoreDirectory, open_place
from scratchflow.store.names import find_snapshot
from scratchflow.store.retention.rules import plan_removal
from scratchflow.testing.store import EPOCH, make_id, make_manifest


@pytest.fixture
def place(tmp_path: Path) -> StoreDirectory:
    return open_place(tmp_path / "store", "work")


def put(place: StoreDirectory, manifest: Manifest, archive: bytes | None = b"x") -> None:
    stored = msgspec.structs.replace(manifest, archive_bytes=len(archive or b""))
    place.manifest(manifest.id).write_bytes(encode_manifest(stored))
    if archive is not None:
        place.archive(manifest.id).write_bytes(archive)


def put_raw(place: StoreDirectory, snapshot: str, content: bytes) -> None:
    place.manifest(snapshot).write_bytes(content)


def test_snapshots_come_oldest_first(place: StoreDirectory) -> None:
    for minutes in (30, 0, 90, 60):
        put(place, make_manifest(make_id(minutes)))
    listed = read_catalogue(place)
    assert [one.id for one in listed.snapshots] == [make_id(m) for m in (0, 30, 60, 90)]
    assert listed.latest == listed.snapshots[-1]
    assert listed.damaged == {}
    assert listed.skipped == ()


def test_junk_is_passed_over(place: StoreDirectory) -> None:
    put(place, make_manifest(make_id()))
    for name in ("notes.json", ".json", "README", f".tmp-{make_id()}.json", "x" * 200 + ".json"):
        (place.directory / name).write_bytes(b"\xff\x00 junk")
    (place.directory / os.fsdecode(b"\xff\xfe.json")).write_bytes(b"{}")
    place.lock.mkdir()
    place.nodes.mkdir()
    listed = read_catalogue(place)
    assert [one.id for one in listed.snapshots] == [make_id()]
    assert listed.skipped == ()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "damaged"),
        (b"{", "damaged"),
        (b"[]", "damaged"),
        (b'{"schema": 1}', "damaged"),
        (b"\xff\xfe", "damaged"),
        (seal_manifest(b'{"schema": 3, "kind": "woven"}'), "newer scratchflow \\(schema 3\\)"),
        (encode_manifest(make_manifest(make_id(5))), "another snapshot"),
        (encode_manifest(make_manifest(make_id(), needs=["../../x"])), "needs"),
        (encode_manifest(make_manifest(make_id(), kind="odd")), "damaged"),
    ],
)
def test_an_unusable_manifest_is_skipped_with_its_reason(
    place: StoreDirectory, content: bytes, reason: str
) -> None:
    put(place, make_manifest(make_id(60)))
    put_raw(place, make_id(), content)
    listed = read_catalogue(place)
    assert [one.id for one in listed.snapshots] == [make_id(60)]
    assert [one.snapshot for one in listed.skipped] == [make_id()]
    with pytest.raises(SnapshotUnreadable, match=make_id()):
        find_snapshot(listed, make_id())
    assert re.search(reason, listed.skipped[0].reason)


def test_one_of_a_newer_version_is_not_called_damaged(place: StoreDirectory) -> None:
    put_raw(place, make_id(60), seal_manifest(b'{"schema": 3}'))
    with pytest.raises(LatestUnreadable) as caught:
        _ = read_catalogue(place).latest
    assert "update scratchflow on the machine" in caught.value.shown_hint
    assert "repair" not in caught.value.shown_hint
    put(place, make_manifest(make_id()))
    with pytest.raises(LatestUnreadable) as caught:
        _ = read_catalogue(place).latest
    assert f"`scratchflow restore {make_id()}`" in caught.value.shown_hint
    blocked = plan_removal(read_catalogue(place), {make_id()}, {}).blocked
    assert "nothing is damaged" in str(blocked)
    assert "out of the store" not in str(blocked)


@pytest.mark.slow
def test_a_flipped_bit_in_any_byte_of_a_manifest_is_noticed(place: StoreDirectory) -> None:
    sound = encode_manifest(make_manifest(make_id(), archive_bytes=1, message="a note"))
    place.archive(make_id()).write_bytes(b"x")
    for position in range(len(sound)):
        flipped = bytearray(sound)
        flipped[position] ^= 1 << position % 8
        put_raw(place, make_id(), bytes(flipped))
        assert read_catalogue(place).skipped, f"damage at byte {position} went unnoticed"


@pytest.mark.slow
def test_any_truncation_of_a_manifest_is_noticed(place: StoreDirectory) -> None:
    sound = encode_manifest(make_manifest(make_id()))
    for length in range(len(sound)):
        put_raw(place, make_id(), sound[:length])
        assert read_catalogue(place).skipped, f"a manifest cut to {length} bytes went unnoticed"


def test_unknown_keys_are_passed_over(place: StoreDirectory) -> None:
    plain = msgspec.to_builtins(make_manifest(make_id(), archive_bytes=1))
    put_raw(place, make_id(), seal_manifest(msgspec.json.encode({**plain, "colour": "blue"})))
    place.archive(make_id()).write_bytes(b"x")
    assert len(read_catalogue(place).snapshots) == 1


@pytest.mark.parametrize("kind", ["fifo", "directory", "link", "huge"])
def test_a_manifest_that_is_no_plain_small_file_is_skipped(
    place: StoreDirectory, kind: str
) -> None:
    path = place.manifest(make_id())
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "link":
        path.symlink_to("/etc/hostname")
    else:
        path.touch()
        os.truncate(path, 1 << 40)
    assert [one.snapshot for one in read_catalogue(place).skipped] == [make_id()]


def test_an_id_whose_digits_are_no_time_is_skipped(place: StoreDirectory) -> None:
    odd = "20269999T999999Z-abcdef"
    put(place, make_manifest(odd))
    assert [one.snapshot for one in read_catalogue(place).skipped] == [odd]


@pytest.mark.parametrize("archive", [None, b"short", b"longer than it was"])
def test_a_missing_or_resized_archive_is_damage(
    place: StoreDirectory, archive: bytes | None
) -> None:
    put(place, make_manifest(make_id(0)))
    put(place, make_manifest(make_id(30)), b"as it was")
    if archive is None:
        place.archive(make_id(30)).unlink()
    else:
        place.archive(make_id(30)).write_bytes(archive)
    listed = read_catalogue(place)
    assert list(listed.damaged) == [make_id(30)]
    assert listed.latest is not None
    assert listed.latest.id == make_id(30)
    assert listed.latest_whole is not None
    assert listed.latest_whole.id == make_id(0)
    with pytest.raises(SnapshotDamaged):
        listed.require_whole(listed.latest)
    listed.require_whole(listed.latest_whole)


def test_damage_of_a_needed_archive_is_damage_of_all_that_need_it(place: StoreDirectory) -> None:
    put(place, make_manifest(make_id(0)))
    put(place, make_manifest(make_id(30), needs=[make_id(0)]))
    put(place, make_manifest(make_id(60)))
    place.archive(make_id(0)).write_bytes(b"other size")
    assert set(read_catalogue(place).damaged) == {make_id(0), make_id(30)}


def test_a_needed_archive_without_a_manifest_is_no_damage(place: StoreDirectory) -> None:
    put(place, make_manifest(make_id(30), needs=[make_id(0)]))
    place.archive(make_id(0)).write_bytes(b"pruned from the list, still needed")
    assert read_catalogue(place).damaged == {}


def test_a_snapshot_pruned_while_it_is_looked_at_is_not_damage(
    place: StoreDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(place, make_manifest(make_id()))
    real = os.lstat

    def prune_first(path: Path) -> os.stat_result:
        if path == place.archive(make_id()):
            place.manifest(make_id()).unlink(missing_ok=True)
            path.unlink(missing_ok=True)
        return real(path)

    monkeypatch.setattr(os, "lstat", prune_first)
    assert read_catalogue(place) == Catalogue()


def test_a_store_that_is_no_directory_is_an_error_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnusable):
        read_catalogue(StoreDirectory(tmp_path / "file"))


def test_a_fresh_id_sorts_last_also_when_the_clock_went_back(place: StoreDirectory) -> None:
    put(place, make_manifest(make_id(60, "ffffff")))
    listed = read_catalogue(place)
    assert fresh_id(listed, EPOCH, "000000") == "20261115T103001Z-000000"
    assert fresh_id(listed, EPOCH + timedelta(hours=1), "000000") == "20261115T103001Z-000000"
    assert fresh_id(listed, EPOCH + timedelta(hours=2), "000000") == "20261115T113000Z-000000"
    assert fresh_id(Catalogue(), EPOCH, "000000") == "20261115T093000Z-000000"


def test_a_fresh_id_sorts_after_what_cannot_be_read_too(place: StoreDirectory) -> None:
    put(place, make_manifest(make_id(0)))
    put_raw(place, make_id(60, "ffffff"), b"{")
    put_raw(place, "20269999T999999Z-abcdef", b"{")
    listed = read_catalogue(place)
    assert fresh_id(listed, EPOCH, "000000") == "20261115T103001Z-000000"


def test_latest_refuses_only_while_the_newest_cannot_be_read(place: StoreDirectory) -> None:
    put(place, make_manifest(make_id(0)))
    put_raw(place, make_id(60), b"{")
    listed = read_catalogue(place)
    with pytest.raises(LatestUnreadable) as caught:
        _ = listed.latest
    assert make_id(60) in str(caught.value)
    assert make_id(0) in caught.value.shown_hint
    assert listed.by_id(make_id(0)).id == make_id(0)
    put(place, make_manifest(make_id(90)))
    latest = read_catalogue(place).latest
    assert latest
    assert latest.id == make_id(90)


def test_a_thousand_snapshots_are_read_with_a_handful_of_calls_each(
    place: StoreDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for minutes in range(1000):
        put(place, make_manifest(make_id(minutes), needs=[make_id(0)]))
    calls = 0
    for name in ("open", "read", "fstat", "lstat", "stat", "close", "listdir", "scandir"):
        real = getattr(os, name)

        def counted(*args: object, _real: object = real, **kwargs: object) -> object:
            nonlocal calls
            calls += 1
            return _real(*args, **kwargs)  # type: ignore[operator]

        monkeypatch.setattr(os, name, counted)
    assert len(read_catalogue(place).snapshots) == 1000
    assert calls <= 6 * 1000 + 10


def test_a_fork_beside_the_newest_is_listed_and_never_the_newest(place: StoreDirectory) -> None:
    put(place, make_manifest(make_id(0)))
    put(place, make_manifest(make_id(30)))
    put(place, make_manifest(make_id(60), beside=True))
    listed = read_catalogue(place)
    assert len(listed.snapshots) == 3
    assert listed.latest == listed.snapshots[1]
    assert (listed.newest_id, listed.greatest_id) == (make_id(30), make_id(60))
    assert listed.latest_whole == listed.snapshots[1]
    assert fresh_id(listed, EPOCH, "000000") > make_id(60)
    put_raw(place, make_id(45), b"damaged")
    with pytest.raises(LatestUnreadable):
        _ = read_catalogue(place).latest


def test_without_anything_else_the_last_fork_is_the_newest(place: StoreDirectory) -> None:
    for minutes in (0, 30):
        put(place, make_manifest(make_id(minutes), beside=True))
    listed = read_catalogue(place)
    assert listed.latest == listed.latest_whole == listed.snapshots[-1]
    put(place, make_manifest(make_id(-30)), b"as it was")
    place.archive(make_id(-30)).unlink()
    listed = read_catalogue(place)
    assert listed.newest_id == make_id(-30)
    assert listed.latest_whole == listed.snapshots[-1]  # all that could be restored is a fork


def test_a_manifest_of_an_older_version_is_no_fork(place: StoreDirectory) -> None:
    plain = msgspec.to_builtins(make_manifest(make_id(), archive_bytes=1))
    assert plain.pop("beside") is False
    put_raw(place, make_id(), seal_manifest(msgspec.json.encode(plain)))
    place.archive(make_id()).write_bytes(b"x")
    (listed,) = read_catalogue(place).snapshots
    assert not listed.beside


def test_the_newest_is_found_without_reading_a_manifest(place: StoreDirectory) -> None:
    assert newest_listed(place) is None
    for minutes in (1, 3, 2):
        place.manifest(make_id(minutes)).write_bytes(b"")
    (place.directory / "zzz.json").touch()
    assert newest_listed(place) == make_id(3)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter any directory")
def test_a_place_that_may_not_be_entered_is_not_taken_for_an_empty_one(
    place: StoreDirectory,
) -> None:
    put_raw(place, "20260101T000000Z-000000", b"{}")
    place.directory.chmod(0o600)
    try:
        with pytest.raises(StoreUnusable, match="Permission denied"):
            read_catalogue(place)
    finally:
        place.directory.chmod(0o700)
