"""What is left of an archive is what snapshots read from it, at the same positions."""

from __future__ import annotations

import os
import random
import shutil
from array import array
from pathlib import Path

import pytest

from scratchflow.archive.foreign.importer import write_complete
from scratchflow.archive.foreign.own_members import OwnMembers
from scratchflow.archive.malformed import Malformed
from scratchflow.archive.read.archive_file import open_index, true_frames
from scratchflow.archive.read.borrowed import verify_borrowed
from scratchflow.archive.read.proven import Proven
from scratchflow.archive.read.verify import verify_archive, verify_bytes
from scratchflow.archive.restore import extract
from scratchflow.archive.tree.index import ArchiveFrames, Index
from scratchflow.archive.write import remnant
from scratchflow.archive.write.archive_out import FdOut
from scratchflow.archive.write.remnant import expected_bytes, merged, ranges_in, write_remnant
from scratchflow.model.errors.snapshots import SnapshotDamaged
from tests.unit.archive.conftest import Bench, tree_state

pytestmark = pytest.mark.usefixtures("small_chunks")


def test_ranges_that_overlap_or_meet_are_one() -> None:
    assert merged([(5, 9), (0, 2), (2, 3), (8, 12), (20, 20), (6, 7)]) == [(0, 3), (5, 12)]


def test_ranges_are_shared_out_to_frames() -> None:
    frames = ArchiveFrames("A", array("Q", [10, 20, 30, 40]), array("Q", [4, 8, 12, 16]))
    found = list(remnant._by_frame(frames, [(2, 4), (8, 22), (30, 40)]))
    assert found == [[(2, 4), (8, 10)], [(0, 10)], [(0, 2)], [(0, 10)]]
    assert expected_bytes(frames, [(2, 4), (8, 22), (30, 40)]) == int(1.6 + 4 + 0.8 + 4)


class _Left:
    """A chain whose first archive is hardly needed by the last snapshot."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        for number in range(40):
            (bench.work / f"small{number}").write_bytes(os.urandom(20_000))
        (bench.work / "text").write_bytes(b"the same again and again " * 40_000)
        (bench.work / "sparse").write_bytes(os.urandom(100_000))
        os.truncate(bench.work / "sparse", 2_000_000)
        content = os.urandom(9_000_000)
        (bench.work / "large").write_bytes(content)
        self.first = bench.backup("A")
        for number in range(1, 40):
            (bench.work / f"small{number}").unlink()
        (bench.work / "large").write_bytes(content[4_000_000:4_300_000] + os.urandom(50_000))
        self.second = bench.backup("B", self.first)
        self.state = tree_state(bench.scratch)
        (bench.work / "small0").unlink()
        self.third = bench.backup("C", self.second)

    def live(self) -> list[tuple[int, int]]:
        return merged(
            one
            for index in (self.second, self.third)
            for number, frames in enumerate(index.archives)
            if frames.id == "A"
            for one in ranges_in(index, number)
        )

    def rewrite(self) -> None:
        path = self.bench.path("A")
        again = path.with_name("again")
        frames = next(one for one in self.second.archives if one.id == "A")
        with again.open("wb") as out:
            write_remnant(path, frames, self.live(), FdOut(out.fileno()))
        os.replace(again, path)

    def check(self) -> None:
        bench = self.bench
        for index in (self.second, self.third):
            assert verify_archive(bench.path(index.id), open_archive=bench.path) == []
            for verified in ([], ["A", "B", "C"]):
                assert verify_borrowed(index, bench.path, Proven(bench.path, verified)) == []
        restored = bench.restore(self.second)
        assert tree_state(restored) == self.state
        shutil.rmtree(restored)


@pytest.mark.slow
def test_everything_that_is_needed_can_be_read_and_little_else_takes_room(bench: Bench) -> None:
    left = _Left(bench)
    before = bench.path("A").stat().st_size
    left.rewrite()
    after = bench.path("A").stat().st_size
    live = sum(end - start for start, end in left.live())
    assert after < before / 5
    assert after < live + 100_000
    assert verify_archive(bench.path("A")) == []
    assert verify_bytes(bench.path("A")) == []
    left.check()
    left.rewrite()  # as often as anybody likes
    assert bench.path("A").stat().st_size <= after
    left.check()


@pytest.mark.slow
def test_a_later_backup_and_an_export_read_from_it(bench: Bench) -> None:
    left = _Left(bench)
    left.rewrite()
    (bench.work / "new").write_bytes((bench.work / "large").read_bytes() + b"more")
    fourth = bench.backup("D", left.third)
    assert "A" in fourth.needs
    restored = bench.restore(fourth)
    assert tree_state(restored) == tree_state(bench.scratch)
    with bench.path("export").open("wb", buffering=0) as out:
        write_complete(OwnMembers(fourth, bench.path), out, archive_id="export", roots=["work"])
    plain = bench.restore_plain("export")
    assert tree_state(plain, whole_seconds=True) == tree_state(bench.scratch, whole_seconds=True)


def test_a_reader_that_has_it_open_goes_on_reading(bench: Bench) -> None:
    left = _Left(bench)
    target = bench.home / "restored"
    target.mkdir()
    opened: list[str] = []

    def open_then_rewrite(archive: str) -> Path:
        if archive == "A" and not opened:
            shutil.copyfile(bench.path("A"), bench.path("before"))
            left.rewrite()
            opened.append(archive)
            return bench.path("before")  # the inode that was opened before
        return bench.path(archive)

    extract.extract(left.second, open_then_rewrite, target, warn=bench.warn)
    assert opened
    assert tree_state(target) == left.state


def test_it_is_no_snapshot_any_more(bench: Bench) -> None:
    left = _Left(bench)
    left.rewrite()
    with pytest.raises(SnapshotDamaged, match="other snapshots need"):
        open_index(bench.path("A"))


def test_what_was_given_up_cannot_be_read_as_zeros(bench: Bench) -> None:
    left = _Left(bench)
    left.rewrite()
    first = left.first
    target = bench.home / "first"
    target.mkdir()
    first.id = "not-A"  # as another snapshot would that nobody knew of
    with pytest.raises(SnapshotDamaged):
        extract.extract(first, bench.path, target, warn=bench.warn)
    assert not (target / "work" / "large").exists()


def _other_frames(index: Index) -> ArchiveFrames:
    frames = next(one for one in index.archives if one.id == "A")
    return ArchiveFrames("A", array("Q", [frames.raw_ends[0] - 1, *frames.raw_ends[1:]]))


@pytest.mark.slow
def test_a_list_that_does_not_fit_the_index_is_refused(bench: Bench) -> None:
    left = _Left(bench)
    left.rewrite()
    with (
        bench.path("A").open("rb") as archive,
        pytest.raises(Malformed, match="other frames"),
    ):
        true_frames(archive.fileno(), _other_frames(left.second))


def test_a_damaged_archive_is_not_rewritten(bench: Bench) -> None:
    left = _Left(bench)
    content = bytearray(bench.path("A").read_bytes())
    frames = next(one for one in left.second.archives if one.id == "A")
    start = left.live()[0][0]
    content[frames.packed_start(frames.frame_at(start)) + 100] ^= 1
    bench.path("A").write_bytes(content)
    with pytest.raises(SnapshotDamaged):
        left.rewrite()
    assert bench.path("A").read_bytes() == content


@pytest.mark.slow
def test_every_flipped_bit_is_noticed_or_harmless(bench: Bench) -> None:
    left = _Left(bench)
    left.rewrite()
    whole = bench.path("A").read_bytes()
    flip = random.Random(3)  # noqa: S311 - the same in every run
    places = [
        *range(len(whole) - 300, len(whole), 7),
        *(flip.randrange(len(whole)) for _ in range(60)),
    ]
    for number, at in enumerate(places):
        changed = bytes([whole[at] ^ 1 << flip.randrange(8)])
        bench.path("A").write_bytes(whole[:at] + changed + whole[at + 1 :])
        assert verify_bytes(bench.path("A"))
        assert verify_archive(bench.path("A"))
        target = bench.home / f"flip{number}"
        target.mkdir()
        try:
            extract.extract(left.second, bench.path, target, warn=bench.warn)
            assert tree_state(target) == left.state
        except SnapshotDamaged:
            pass
        shutil.rmtree(target)
