"""`snapshots verify` calls a snapshot damaged only when a restore of it would fail."""

from __future__ import annotations

import random
import struct
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scratchflow.archive.format.container import FOOTER_BYTES
from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.archive.read.archive_file import open_index
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import SnapshotNewer
from scratchflow.model.snapshot import NEWEST_FORMAT, Manifest, seal_manifest
from scratchflow.node.history import verification
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.checks.verified import read_verified
from scratchflow.store.retention.prune import remove
from scratchflow.testing.store import make_lock
from tests.unit.conftest import Desk, make_desk

KEEP_ONE = (
    "[profiles.test.backup]\nkeep_last = 1\nkeep_hourly = 0\nkeep_daily = 0\nkeep_weekly = 0\n"
)
NAMES = ["a", "b", "c", "d"]


def bad(desk: Desk) -> dict[str, str]:
    return {one.id: one.reason for one in verify_snapshots(desk.context, desk.notify, []).bad}


def give_up(desk: Desk, snapshot: str) -> None:
    """Removes a snapshot. Its archive stays without a manifest while others need it."""
    with make_lock(desk.place).acquired() as lock:
        remove(lock, [snapshot])


def noise(seed: int, size: int = 3000) -> bytes:
    return random.Random(seed).randbytes(size)  # noqa: S311 - data


def a_chain(desk: Desk) -> list[str]:
    """A full snapshot and five incrementals.

    The third holds `added`, which stays; when it was taken it also needed the second, for a
    `changing` that no later snapshot has.
    """
    desk.write("work/large", noise(0, 400_000))
    taken = []
    for number in range(6):
        if number == 2:
            desk.write("work/added", noise(77))
        else:
            desk.write("work/changing", noise(number + 1))
        taken.append(desk.backup().snapshot or "")
    return taken


def test_what_prune_left_whole_verifies(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, KEEP_ONE)
    taken = a_chain(desk)
    assert not desk.place.archive(taken[1]).exists()
    assert desk.place.archive(taken[2]).exists()
    assert all(restores(desk, one) for one in desk.ids)
    assert bad(desk) == {}


def test_what_is_removed_while_it_is_read_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk(tmp_path)
    taken = a_chain(desk)
    before = read_catalogue(desk.place)
    for one in taken[3:5]:
        give_up(desk, one)
    monkeypatch.setattr(verification, "warned_catalogue", lambda *_: before)
    found = verify_snapshots(desk.context, desk.notify, [])
    assert (found.bad, found.checked) == ([], 4)
    assert read_verified(desk.place).keys() == set(taken) - set(taken[3:5])


def test_a_store_that_goes_away_while_it_is_read_is_not_taken_for_pruned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk(tmp_path)
    taken = a_chain(desk)
    before = read_catalogue(desk.place)
    monkeypatch.setattr(verification, "warned_catalogue", lambda *_: before)
    monkeypatch.setattr(verification, "record_verified", lambda *_: None)  # there is nowhere to
    desk.place.directory.rename(tmp_path / "away")
    assert bad(desk).keys() == set(taken)


@pytest.mark.parametrize("damage", ["missing", "flipped", "truncated"])
def test_damage_to_bytes_that_a_restore_reads_is_found(tmp_path: Path, damage: str) -> None:
    desk = make_desk(tmp_path, KEEP_ONE)
    full = a_chain(desk)[0]
    give_up(desk, full)  # so that no manifest has the digest of its archive
    archive = desk.place.archive(full)
    content = bytearray(archive.read_bytes())
    if damage == "missing":
        archive.unlink()
    elif damage == "flipped":
        content[200_000] ^= 1
        archive.write_bytes(content)
    else:
        archive.write_bytes(content[:100_000])
    assert set(bad(desk)) == set(desk.ids)


def test_an_archive_exchanged_for_a_whole_one_of_the_same_shape_is_found(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, KEEP_ONE)
    full = a_chain(desk)[0]
    give_up(desk, full)
    other = make_desk(tmp_path_beside(tmp_path))
    other.write("work/large", noise(99, 400_000))
    other.write("work/changing", noise(98))
    swapped = other.place.archive(other.backup().snapshot or "").read_bytes()
    desk.place.archive(full).write_bytes(swapped)
    assert set(bad(desk)) == set(desk.ids)


def tmp_path_beside(path: Path) -> Path:
    beside = path / "beside"
    beside.mkdir()
    return beside


@pytest.mark.slow
def test_damage_to_bytes_that_no_listed_snapshot_reads_is_no_damage_of_a_snapshot(
    tmp_path: Path,
) -> None:
    desk = make_desk(tmp_path, KEEP_ONE)
    desk.write("work/z", noise(7, 9_000_000))
    full = a_chain(desk)[0]
    (desk.work / "large").unlink()
    for number in range(4):
        desk.write("work/changing", noise(number + 50))
        desk.backup(allow_shrink=True)
    give_up(desk, full)
    archive = desk.place.archive(full)
    content = bytearray(archive.read_bytes())
    content[200_000] ^= 1  # in `large`, which only removed snapshots hold
    archive.write_bytes(content)
    for one in desk.ids:
        assert restores(desk, one) is True
    assert bad(desk) == {}


steps = st.tuples(
    st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 5)), max_size=3),
    st.integers(0, 5),
    st.booleans(),
)
damages = st.tuples(st.integers(0, 50), st.sampled_from(["flip", "cut", "remove"]), st.floats(0, 1))


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(st.lists(steps, min_size=4, max_size=9), st.none() | damages)
def test_verify_finds_nothing_exactly_when_a_restore_works(
    history: list[tuple[list[tuple[str, int]], int, bool]], damage: tuple[int, str, float] | None
) -> None:
    with TemporaryDirectory() as directory:
        desk = make_desk(Path(directory), KEEP_ONE)
        states: dict[str, dict[str, bytes]] = {}
        for changes, number, prunes in history:
            change(desk, changes)
            taken = desk.backup(allow_shrink=True, prune=prunes, full=number == 5)
            states.setdefault(taken.snapshot or "", desk.content())
        if damage is not None:
            harm(desk, *damage)
        found = bad(desk)
        for one in desk.ids:
            worked = restores(desk, one, states[one])
            assert worked or one in found, "a restore failed that verify promised"
            # The snapshot's own archive counts as damaged by any flipped bit: plain `tar` reads it.
            assert one not in found or not worked or own_archive_is_harmed(desk, one)


def change(desk: Desk, changes: list[tuple[str, int]]) -> None:
    for name, number in changes:
        if number:
            desk.write(f"work/{name}", noise(number, 1000 + number * 997))
        else:
            (desk.work / name).unlink(missing_ok=True)


def harm(desk: Desk, which: int, how: str, where: float) -> None:
    archives = sorted(desk.place.directory.glob("*.tar.lz4"))
    if not archives:
        return
    archive = archives[which % len(archives)]
    content = bytearray(archive.read_bytes())
    at = int(where * (len(content) - 1))
    if how == "remove":
        archive.unlink()
    elif how == "cut":
        archive.write_bytes(content[:at])
    else:
        content[at] ^= 1
        archive.write_bytes(content)


def restores(desk: Desk, snapshot: str, expected: dict[str, bytes] | None = None) -> bool:
    with TemporaryDirectory() as directory:
        target = Path(directory) / "out"
        try:
            desk.restore(snapshot, to=target)
        except ScratchflowError:
            return False
        return expected is None or desk.content(target / "work") == expected


def own_archive_is_harmed(desk: Desk, snapshot: str) -> bool:
    manifest = next(one for one in listed(desk) if one.id == snapshot)
    return WholeDigest().text(desk.place.archive(snapshot).read_bytes()) != manifest.archive_digest


def listed(desk: Desk) -> tuple[Manifest, ...]:
    return read_catalogue(desk.place).snapshots


def test_a_needed_archive_whose_index_is_lost_still_gives_its_bytes(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, KEEP_ONE)
    full = a_chain(desk)[0]
    give_up(desk, full)
    archive = desk.place.archive(full)
    end = open_index(archive).archives[0].packed_ends[-1]
    archive.write_bytes(archive.read_bytes()[:end])
    assert all(restores(desk, one) for one in desk.ids)
    assert bad(desk) == {}


def of_newer_format(archive: Path) -> None:
    """Makes an archive say that it has a format which only a newer scratchflow reads."""
    content = bytearray(archive.read_bytes())
    body = memoryview(content)[len(content) - FOOTER_BYTES + 8 : -4]
    body[8:12] = struct.pack("<I", NEWEST_FORMAT + 1)
    content[-4:] = struct.pack("<I", zlib.crc32(body))
    archive.write_bytes(content)


def test_a_snapshot_of_a_newer_version_is_neither_damaged_nor_checked(desk: Desk) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/more", noise(1))
    second = str(desk.backup().snapshot)
    desk.place.manifest(second).write_bytes(seal_manifest(b'{"schema": 99}'))
    found = verify_snapshots(desk.context, desk.notify, [])
    assert (found.checked, found.bad, found.exit_code()) == (1, [], 31)
    assert [one.id for one in found.newer] == [second]
    assert "newer scratchflow" in found.newer[0].reason
    assert read_verified(desk.place).keys() == {first}


def test_what_needs_an_archive_that_a_newer_version_rewrote_is_not_called_damaged(
    desk: Desk, tmp_path: Path
) -> None:
    first, *others = a_chain(desk)
    of_newer_format(desk.place.archive(first))
    desk.place.manifest(first).unlink()
    found = verify_snapshots(desk.context, desk.notify, [])
    assert (found.checked, found.bad, [one.id for one in found.newer]) == (0, [], others)
    with pytest.raises(SnapshotNewer, match="needs a newer scratchflow"):
        desk.restore(others[-1], to=tmp_path / "never")
    assert read_verified(desk.place) == {}
    archive = desk.place.archive(others[0])
    archive.write_bytes(archive.read_bytes()[:-1])
    # What the others read of it may be whole.
    found = verify_snapshots(desk.context, desk.notify, [])
    assert ([one.id for one in found.bad], [one.id for one in found.newer]) == (
        [others[0]],
        others[1:],
    )
