"""What several processes find right is right, and whatever is wrong is left to be told by one."""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

import pytest

from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.archive.read import segments, verify
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.read.hashed import HashedFile
from scratchflow.archive.read.segments import Segments, are_right
from scratchflow.archive.tree.index import Index
from scratchflow.archive.write.archive_out import FRAME_BYTES
from tests.unit.archive.conftest import Bench, fill

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="helpers are forked on Linux only")


@pytest.fixture(autouse=True)
def always_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "_SEGMENT_BYTES", 1)


def many_frames(bench: Bench) -> Path:
    """Small files in many frames, some of which begin with one, and files that are larger than a frame."""
    fill(bench.work)
    for number in range(40):
        directory = bench.work / f"{number % 7}"
        directory.mkdir(exist_ok=True)
        (directory / f"file-{number}").write_bytes(os.urandom(250_000) + b"x" * number)
    (bench.work / "large").write_bytes(os.urandom(2 * FRAME_BYTES))
    os.link(bench.work / "3" / "file-3", bench.work / "z-linked")
    bench.backup("A")
    return bench.path("A")


def checked(path: Path, threads: int, digest: str | None = None) -> list[str]:
    digest = digest or WholeDigest().text(path.read_bytes())
    return verify.verify_archive(path, digest=digest, threads=threads)


def nobody_walks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def walk(*_: object) -> None:
        raise AssertionError("the whole stream was walked")

    monkeypatch.setattr(verify._Check, "_frames", walk)


@pytest.mark.parametrize("processes", [2, 5])
def test_a_whole_archive_is_found_right_and_its_digest_is_known(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    path = many_frames(bench)
    descriptor = os.open(path, os.O_RDONLY)
    cut = Segments(open_index(path), 0, descriptor)
    assert len(cut.all) > 2
    assert [one.first for one in cut.all[1:]] == [one.end for one in cut.all[:-1]]
    source = HashedFile(descriptor)
    assert are_right(cut, source, processes)
    assert source.finish()[1] == WholeDigest().text(path.read_bytes())
    os.close(descriptor)
    nobody_walks_alone(monkeypatch)
    assert checked(path, processes) == []


@pytest.mark.usefixtures("small_chunks")
def test_chunks_of_large_files_are_compared(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    content = os.urandom(5_000_000)
    (bench.work / "large").write_bytes(content)
    first = bench.backup("A")
    (bench.work / "large").write_bytes(content[:2_000_000] + os.urandom(3_000_000))
    for number in range(200):
        (bench.work / f"small-{number}").write_bytes(os.urandom(50_000 - number))
    bench.backup("B", first)
    path = bench.path("B")
    expected = WholeDigest().text(path.read_bytes())
    with monkeypatch.context() as patched:
        nobody_walks_alone(patched)
        assert checked(path, 3) == []
    damaged = bytearray(path.read_bytes())
    damaged[1000] ^= 1  # in the first chunks
    path.write_bytes(damaged)
    assert checked(path, 3, expected) == checked(path, 1, expected) != []


def test_whatever_is_wrong_is_told_as_by_one_process(bench: Bench) -> None:
    path = many_frames(bench)
    content = path.read_bytes()
    expected = WholeDigest().text(content)
    dice = random.Random(4)  # noqa: S311 - the same damage every time
    for _ in range(25):
        damaged = bytearray(content)
        damaged[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        path.write_bytes(damaged)
        assert checked(path, 3, expected) == checked(path, 1, expected) != []


def test_a_wrong_checksum_of_a_frame_is_noticed_by_the_digest(bench: Bench) -> None:
    path = many_frames(bench)
    content = bytearray(path.read_bytes())
    expected = WholeDigest().text(bytes(content))
    content[open_index(path).archives[0].packed_ends[0] - 1] ^= 1
    path.write_bytes(content)
    assert "it does not match the digest in its manifest" in checked(path, 3, expected)
    # Where there is no manifest to compare with, every checksum is.
    assert "checksum" in verify.verify_archive(path, threads=3)[0]


def test_an_index_that_says_something_else_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = many_frames(bench)
    opened = open_index

    def wrong(change: str) -> Index:
        index = opened(path)
        entry = index.find(b"work/5/file-19") or 0
        if change == "digest":
            digests = bytearray(index.digest)
            digests[entry * 16] ^= 1
            index.digest = digests
        elif change == "members":
            index.members += 1
        elif change == "mode":
            index.mode[entry] ^= 0o100
        else:
            index.position[entry] += 512
        return index

    for change in ("digest", "members", "mode", "position"):
        monkeypatch.setattr(verify, "open_index", lambda _, change=change: wrong(change))
        assert checked(path, 3) == checked(path, 1) != []


def test_a_helper_that_is_killed_is_not_believed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = many_frames(bench)
    asker, right = os.getpid(), Segments.right

    def killed(self: Segments, number: int) -> object:
        if os.getpid() != asker:
            os.kill(os.getpid(), signal.SIGKILL)
        return right(self, number)

    monkeypatch.setattr(Segments, "right", killed)
    assert checked(path, 3) == []


def test_an_archive_of_a_few_bytes_is_walked_by_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    fill(bench.work)
    bench.backup("A")
    descriptor = os.open(bench.path("A"), os.O_RDONLY)
    cut = Segments(open_index(bench.path("A")), 0, descriptor)
    assert not are_right(cut, HashedFile(descriptor), 4)
    os.close(descriptor)
    assert checked(bench.path("A"), 4) == []
