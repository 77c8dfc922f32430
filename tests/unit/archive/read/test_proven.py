"""What was read for one snapshot is not read for the next, and nothing is believed that was not read."""

from __future__ import annotations

import functools
import os
from array import array

import pytest

from scratchflow.archive.read.borrowed import verify_borrowed
from scratchflow.archive.read.proven import Proven, is_left
from scratchflow.archive.read.verify import verify_archive
from scratchflow.archive.tree.index import Index
from scratchflow.archive.write.archive_out import FdOut
from scratchflow.archive.write.remnant import Range, ranges_in, write_remnant
from scratchflow.model.errors.snapshots import SnapshotDamaged
from tests.unit.archive.conftest import Bench

pytestmark = pytest.mark.usefixtures("small_chunks")

MIB = 1 << 20


class History:
    """A: three files. B: `large` changed a little. C: B without `small`, which makes it refer to A and B."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        content = os.urandom(5 * MIB)
        (bench.work / "large").write_bytes(content)
        (bench.work / "gone").write_bytes(os.urandom(5 * MIB))
        (bench.work / "small").write_bytes(os.urandom(5000))
        (bench.work / "kept").write_bytes(os.urandom(5000))
        (bench.work / "sparse").write_bytes(os.urandom(70_000))
        os.truncate(bench.work / "sparse", 2 * MIB)
        self.first = bench.backup("A")
        (bench.work / "gone").unlink()
        (bench.work / "large").write_bytes(content[:MIB] + os.urandom(1000) + content[MIB:])
        self.second = bench.backup("B", self.first)
        (bench.work / "small").unlink()
        self.third = bench.backup("C", self.second)

    def number_of(self, index: Index) -> int:
        return next(n for n, one in enumerate(index.archives) if one.id == "A")

    def live(self) -> list[Range]:
        return ranges_in(self.second, self.number_of(self.second))

    def rewrite(self, live: list[Range]) -> None:
        path = self.bench.path("A")
        again = path.with_name("again")
        frames = self.second.archives[self.number_of(self.second)]
        with again.open("wb") as out:
            write_remnant(path, frames, live, FdOut(out.fileno()))
        os.replace(again, path)

    def proven(self, *archives: str) -> Proven:
        """After these archives were read."""
        proven = Proven(self.bench.path)
        for index in (self.second, self.third):
            proven.expect(index, [one for one in archives if is_left(one, self.bench.path)])
        for archive in archives:
            assert verify_archive(self.bench.path(archive), left=proven.left(archive)) == []
            proven.add(archive)
        return proven

    def unseen(self, index: Index, proven: Proven) -> set[bytes]:
        is_seen = proven.checker(index)
        entries = [one for one in index.regular_files() if index.stored_size(one)]
        return {index.names[entry] for entry in entries if not is_seen(entry)}


@pytest.fixture
def history(bench: Bench) -> History:
    return History(bench)


@pytest.mark.slow
def test_what_archives_list_is_seen_when_they_were_read(history: History) -> None:
    every = {b"large", b"small", b"kept", b"sparse"}
    assert history.unseen(history.second, history.proven()) == every
    assert history.unseen(history.second, history.proven("A")) == {b"large"}  # a part of it is in B
    for index in (history.second, history.third):
        assert history.unseen(index, history.proven("A", "B")) == set()


@pytest.mark.slow
def test_what_is_left_of_an_archive_is_seen_when_it_was_read(history: History) -> None:
    assert not is_left("A", history.bench.path)
    history.rewrite(history.live())
    assert is_left("A", history.bench.path)
    for index in (history.second, history.third):
        assert history.unseen(index, history.proven("A", "B")) == set()
        assert verify_borrowed(index, history.bench.path, history.proven("A", "B")) == []


@pytest.mark.slow
def test_nothing_is_believed_of_what_is_not_left(history: History) -> None:
    live = history.live()
    history.rewrite([one for one in live if one[1] - one[0] > 6000 or one == live[-1]])
    proven = history.proven("A", "B")
    unseen = history.unseen(history.second, proven)
    assert unseen
    assert unseen < {b"large", b"small", b"kept", b"sparse"}
    assert verify_borrowed(history.second, history.bench.path, proven)


@pytest.mark.slow
def test_a_frame_that_was_rewritten_wrongly_is_not_believed(history: History) -> None:
    """Its checksum is right, and so is the SHA-256 of the file; only the contents tell."""
    start, end = history.live()[-1]
    history.rewrite([*history.live()[:-1], (start + 1, end)])
    assert verify_archive(history.bench.path("A")) == []
    proven = history.proven("A", "B")
    assert history.unseen(history.second, proven)
    assert verify_borrowed(history.second, history.bench.path, proven)


@pytest.mark.slow
def test_what_was_read_for_other_frames_or_another_seed_does_not_count(history: History) -> None:
    for rewritten in (False, True):
        if rewritten:
            history.rewrite(history.live())
        index = history.bench.backup("D", history.third)
        proven = history.proven("A", "B")
        assert history.unseen(index, proven) == set()
        frames = index.archives[history.number_of(index)]
        frames.raw_ends = array("Q", [frames.raw_ends[0] - 1, *frames.raw_ends[1:]])
        assert history.unseen(index, proven) == {b"large", b"kept", b"sparse"}
        history.third.seed += 1
        assert history.unseen(history.third, proven) == {b"large", b"kept", b"sparse"}
        history.third.seed -= 1


@pytest.mark.slow
def test_an_archive_that_is_gone_or_none_is_not_one_of_which_a_part_is_left(
    history: History,
) -> None:
    path = history.bench.path("A")
    path.write_bytes(b"short")
    assert not is_left("A", history.bench.path)
    path.unlink()
    assert not is_left("A", history.bench.path)
    path.mkdir()
    assert not is_left("A", history.bench.path)
    assert history.unseen(history.second, Proven(history.bench.path, ["A", "B"]))
    with pytest.raises(SnapshotDamaged):
        history.bench.restore(history.second)


def test_a_snapshot_stands_alone_when_all_of_it_lies_in_its_own_archive_and_that_was_read(
    bench: Bench,
) -> None:
    history = History(bench)
    proven = Proven(bench.path)
    for index in (history.first, history.second, history.third):
        problems = verify_archive(
            bench.path(index.id), on_index=functools.partial(proven.note, index.id)
        )
        assert not problems
        assert not proven.stands_alone(index.id)
        proven.add(index.id)
    alone = [proven.stands_alone(index.id) for index in (history.first, history.second)]
    assert alone == [True, False]
    assert not proven.stands_alone("C")
