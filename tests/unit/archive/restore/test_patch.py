"""A large file is made from its older version: only what that one lacks is read from archives."""

from __future__ import annotations

import os
import random
import subprocess
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from scratchflow.archive.format.container import FrameBlocks, GetRoom
from scratchflow.archive.read.archives import Archives
from scratchflow.archive.restore import apply_delta, patch
from scratchflow.archive.restore.displace import Displacing, Held
from scratchflow.archive.restore.patch import Stretch, is_worthwhile, stretches
from scratchflow.archive.tree.chunks import Chunks, in_one_piece
from scratchflow.archive.tree.index import Index
from tests.unit.archive.conftest import Bench, tree_state

SIZE = 5_000_000  # more than a frame

Parts = Sequence[tuple[int, int]]


def _chunks(letters: str, number: int = 0, length: int = 10) -> Chunks:
    digests = b"".join(letter.encode() * 16 for letter in letters)
    return in_one_piece(array("I", [length] * len(letters)), digests, number, 1000)


def test_what_the_older_file_has_is_taken_from_there_wherever_it_lies() -> None:
    found = stretches(_chunks("abXYcda"), _chunks("abcda"))
    assert found == [
        Stretch(0, 20, 0),
        Stretch(20, 20, -1, [(0, 1020, 10), (0, 1030, 10)]),
        Stretch(40, 20, 20),
        Stretch(60, 10, 0),
    ]


def test_a_chunk_that_repeats_is_taken_from_its_own_place() -> None:
    assert stretches(_chunks("aaba"), _chunks("aaca")) == [
        Stretch(0, 20, 0),
        Stretch(20, 10, -1, [(0, 1020, 10)]),
        Stretch(30, 10, 30),
    ]


def test_a_chunk_of_another_length_is_another_one() -> None:
    assert [one.older for one in stretches(_chunks("a"), _chunks("a", length=9))] == [-1]


def test_a_file_that_shares_little_is_not_worth_it() -> None:
    assert is_worthwhile(stretches(_chunks("abcd"), _chunks("ab")))
    assert not is_worthwhile(stretches(_chunks("abcd"), _chunks("a")))


def _insert(content: bytearray) -> None:
    content[10:10] = b"inserted"


def _overwrite(content: bytearray) -> None:
    content[500_000:500_100] = os.urandom(100)


def _shorten(content: bytearray) -> None:
    del content[-200_000:]


def _append(content: bytearray) -> None:
    content += os.urandom(200_000)


def _swap(content: bytearray) -> None:
    content[:] = content[SIZE // 2 :] + content[: SIZE // 2]


CHANGES: list[Callable[[bytearray], None]] = [_insert, _overwrite, _shorten, _append, _swap]


class _Two:
    """Two snapshots of a workspace with one large file; the workspace equals the second."""

    def __init__(self, bench: Bench, change: Callable[[bytearray], None] = _overwrite) -> None:
        self.bench = bench
        self.file = bench.work / "large"
        content = bytearray(random.Random(1).randbytes(SIZE))  # noqa: S311 - cut at the same places in every run
        self.file.write_bytes(content)
        self.first = bench.backup("A")
        self.first_state = tree_state(bench.scratch)
        change(content)
        self.file.write_bytes(content)
        self.second = bench.backup("B", self.first)

    def delta(self) -> apply_delta.Delta:
        bench = self.bench
        return apply_delta.find_delta(
            bench.settled(), self.second, bench.cache, self.first, bench.warn
        )

    def apply(self, delta: apply_delta.Delta) -> None:
        bench = self.bench
        scanned = bench.settled()
        displacing = Displacing(Held(scanned), "A", bench.warn, clears=True)
        apply_delta.apply(delta, scanned, self.first, bench.path, displacing=displacing)


@pytest.fixture
def read_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How long each part is that is read from archives."""
    found: list[int] = []

    def noted(self: Archives, number: int, frame: int, parts: Parts, room: GetRoom) -> FrameBlocks:
        found.extend(length for _, length in parts)
        return fetched(self, number, frame, parts, room)

    fetched = Archives.fetched
    monkeypatch.setattr(Archives, "fetched", noted)
    return found


def _copy_blocks(target: int, source: int) -> bool:
    """What sharing blocks looks like to whoever reads afterwards."""
    os.ftruncate(target, 0)
    size = os.fstat(source).st_size
    os.pwrite(target, os.pread(source, size, 0), 0)
    return True


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_only_what_changed_is_read_from_the_store(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    read_bytes: list[int],
    change: Callable[[bytearray], None],
    *,
    shared: bool,
) -> None:
    if shared:
        monkeypatch.setattr(patch, "_share_blocks", _copy_blocks)
    two = _Two(bench, change)
    two.apply(two.delta())
    assert tree_state(bench.scratch) == two.first_state
    assert bench.warnings == []
    assert 0 < sum(read_bytes) < (260_000 if change is _shorten else 60_000)


@pytest.mark.usefixtures("small_chunks")
def test_of_shared_blocks_only_what_changed_is_written(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    real = patch._pwrite_all

    def noted(descriptor: int, content: memoryview, offset: int) -> None:
        written.append(len(content))
        real(descriptor, content, offset)

    monkeypatch.setattr(patch, "_share_blocks", _copy_blocks)
    monkeypatch.setattr(patch, "_pwrite_all", noted)
    two = _Two(bench)
    two.apply(two.delta())
    assert tree_state(bench.scratch) == two.first_state
    assert 0 < sum(written) < 60_000


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("shared", [False, True])
def test_an_older_file_with_other_bytes_than_it_should_have_is_not_believed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, *, shared: bool
) -> None:
    if shared:
        monkeypatch.setattr(patch, "_share_blocks", _copy_blocks)
    two = _Two(bench)
    delta = two.delta()
    with two.file.open("r+b") as file:  # as a disk does that forgets what was written
        file.write(b"bad")
    ctime_ns = two.file.stat().st_ctime_ns
    delta.older = {
        entry: msgspec.structs.replace(one, ctime_ns=ctime_ns) for entry, one in delta.older.items()
    }
    two.apply(delta)
    found = tree_state(bench.work)
    assert found[b"large"] == two.first_state[b"work/large"]


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.slow
def test_a_file_that_was_written_to_since_is_not_used(bench: Bench, read_bytes: list[int]) -> None:
    two = _Two(bench)
    delta = two.delta()
    assert delta.older
    two.file.write_bytes(b"another")
    two.apply(delta)
    assert tree_state(bench.work)[b"large"] == two.first_state[b"work/large"]
    assert sum(read_bytes) >= SIZE


@pytest.mark.usefixtures("small_chunks")
def test_a_file_that_cannot_be_written_leaves_the_older_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "no space")

    two = _Two(bench)
    before = tree_state(bench.work)
    monkeypatch.setattr(patch, "_pwrite_all", fail)
    monkeypatch.setattr("scratchflow.archive.restore.placer._write_all", fail)
    monkeypatch.setattr("scratchflow.archive.read.spans._write", fail)
    with pytest.raises(Exception, match="no space"):
        two.apply(two.delta())
    assert tree_state(bench.work) == before


@pytest.mark.slow
@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("seed", range(4))
def test_random_changes_come_back_to_the_byte(bench: Bench, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same in every run
    content = bytearray(chance.randbytes(SIZE))
    indexes: list[Index] = []
    states = []
    for number in range(6):
        for _ in range(chance.randrange(1, 5)):
            at, count = chance.randrange(len(content)), chance.randrange(30_000)
            content[at : at + chance.choice([0, count])] = chance.randbytes(count)
        (bench.work / "large").write_bytes(content)
        indexes.append(bench.backup(f"S{number}", indexes[-1] if indexes else None))
        states.append(tree_state(bench.scratch))
    base = indexes[-1]
    for number in (0, 5, 2, 4, 1):
        bench.delta_to(indexes[number], base)
        assert tree_state(bench.scratch) == states[number]
        bench.cache, base = None, indexes[number]


def test_a_file_system_that_can_share_blocks_does(tmp_path: Path) -> None:
    asked = ["stat", "-f", "-c", "%T", str(tmp_path)]
    kind = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    (tmp_path / "source").write_bytes(b"x" * 100_000)
    with (tmp_path / "source").open("rb") as source, (tmp_path / "target").open("w+b") as target:
        is_shared = patch._share_blocks(target.fileno(), source.fileno())
        assert target.read() == (b"x" * 100_000 if is_shared else b"")
    assert is_shared or kind not in {"xfs", "btrfs"}
