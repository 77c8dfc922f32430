"""Members that are as the index says are told at once; what differs in anything is taken apart, and told."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from scratchflow.archive.format.container import BLOCK_BYTES, decompress_frame
from scratchflow.archive.format.stream import PieceReader
from scratchflow.archive.format.tar_headers import BLOCK
from scratchflow.archive.format.tar_reader import read_members
from scratchflow.archive.read import verify
from scratchflow.archive.read.plain_members import PlainMembers, plain_entries
from scratchflow.archive.tree.index import Index
from tests.unit.archive.conftest import Bench, fill

_SECOND_NS = 1_000_000_000


def _own(index: Index) -> int:
    return [archive.id for archive in index.archives].index(index.id)


def _stream(path: Path, index: Index, piece_bytes: int = BLOCK_BYTES) -> PieceReader:
    frames, packed = index.archives[_own(index)], path.read_bytes()
    raw = b"".join(
        decompress_frame(
            packed[frames.packed_start(number) : end],
            frames.raw_ends[number] - frames.raw_start(number),
        )
        for number, end in enumerate(frames.packed_ends)
    )
    return PieceReader(raw[at : at + piece_bytes] for at in range(0, len(raw), piece_bytes))


def _read(
    path: Path, index: Index, piece_bytes: int = BLOCK_BYTES
) -> tuple[set[bytes], set[bytes]]:
    """The paths of members that were right at once, and those of the others."""
    plain = PlainMembers(index, plain_entries(index, _own(index)))
    right: set[bytes] = set()
    stream = _stream(path, index, piece_bytes)
    others = {
        member.path.rstrip(b"/")
        for member in read_members(
            stream, pass_over=lambda stream: right.update(map(index.path, plain.take(stream)))
        )
    }
    return right, others


@pytest.mark.parametrize("piece_bytes", [BLOCK_BYTES, 1000, 7])
def test_directories_and_plain_small_files_are_right_at_once_and_nothing_else_is(
    bench: Bench, piece_bytes: int
) -> None:
    (bench.work / "sub").mkdir()
    for number in range(50):
        (bench.work / "sub" / f"file-{number}").write_bytes(os.urandom(number * 97))
    (bench.work / ("long" * 40)).write_bytes(b"a path that needs more than one header")
    (bench.work / "link").symlink_to("sub")
    (bench.work / "large").write_bytes(os.urandom(2 * BLOCK_BYTES))
    os.link(bench.work / "sub" / "file-1", bench.work / "same")
    index = bench.backup("A")
    right, others = _read(bench.path("A"), index, piece_bytes)
    named = {b"work/" + name for name in (b"long" * 40, b"link", b"large")}
    assert others == {*named, index.path(next(iter(index.hardlinks)))}
    assert right | others == {index.path(entry) for entry in range(len(index))}
    assert not right & others


def _other_mode(index: Index, entry: int) -> None:
    index.mode[entry] ^= 0o100


def _other_mtime(index: Index, entry: int) -> None:
    index.mtime_ns[entry] += _SECOND_NS


def _other_size(index: Index, entry: int) -> None:
    index.size[entry] += 1


def _other_place(index: Index, entry: int) -> None:
    index.position[entry] += BLOCK


def _other_digest(index: Index, entry: int) -> None:
    digest = bytearray(index.digest)
    digest[entry * 16] ^= 1
    index.digest = bytes(digest)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_other_mode, "different modes"),
        (_other_mtime, "different mtimes"),
        (_other_size, "different sizes"),
        (_other_place, "not where the index says"),
        (_other_digest, "does not match its digest"),
    ],
)
def test_a_file_that_differs_from_the_index_in_anything_is_told(
    bench: Bench,
    change: Callable[[Index, int], None],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill(bench.work)
    (bench.work / "data").write_bytes(b"some content")
    index = bench.backup("A")
    entry = index.find(b"work/data")
    assert entry is not None
    change(index, entry)
    monkeypatch.setattr(verify, "open_index", lambda _path: index)
    assert any(words in problem for problem in verify.verify_archive(bench.path("A")))


@pytest.mark.parametrize(
    ("change", "words"), [(_other_mode, "different modes"), (_other_mtime, "different mtimes")]
)
def test_a_directory_that_differs_from_the_index_is_told(
    bench: Bench,
    change: Callable[[Index, int], None],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (bench.work / "sub").mkdir()
    index = bench.backup("A")
    entry = index.find(b"work/sub")
    assert entry is not None
    change(index, entry)
    monkeypatch.setattr(verify, "open_index", lambda _path: index)
    assert [f"`work/sub` has {words} in tar stream and index"] == verify.verify_archive(
        bench.path("A")
    )


def test_directories_without_a_member_are_passed_over(bench: Bench) -> None:
    for name in ("a", "b", "c"):
        (bench.work / name).mkdir()
        (bench.work / name / "file").write_bytes(b"first")
    first = bench.backup("A")
    (bench.work / "b" / "file").write_bytes(b"second")
    index = bench.backup("B", first)
    right, others = _read(bench.path("B"), index)
    assert b"work/b/file" in right
    assert not others


def test_an_owner_that_cannot_be_read_is_left_to_whoever_takes_headers_apart(bench: Bench) -> None:
    (bench.work / "data").write_bytes(b"some content")
    index = bench.backup("A")
    raw = bytearray(_stream(bench.path("A"), index).read(index.archives[0].raw_ends[-1]))
    start = index.position[index.find(b"work/data") or 0] - BLOCK
    raw[start + 108 : start + 116] = b"someone\0"
    stream = PieceReader([bytes(raw)])
    stream.skip(start)
    assert not list(PlainMembers(index, plain_entries(index, 0)).take(stream))
    assert stream.position == start
