"""A large file is read once, from its first byte to its last, and comes with its chunks."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

import pytest

from scratchflow.archive.files.digest import digest_of_bytes
from scratchflow.archive.files.holes import MAX_HOLE_BYTES
from scratchflow.archive.write.windows import LargeFile

pytestmark = pytest.mark.usefixtures("small_chunks")

SEED = 5
SIZE = 400_000  # several windows


@contextmanager
def _opened(path: Path) -> Iterator[LargeFile]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield LargeFile(descriptor, os.fstat(descriptor), SEED)
    finally:
        os.close(descriptor)


def _read(file: LargeFile) -> bytes:
    """The content; each chunk of it has the digest that it should have."""
    found = []
    for window in file.windows():
        whole = bytes(window.content)
        ends = list(accumulate(window.lengths))
        assert ends[-1] == len(whole)
        parts = [whole[end - size : end] for end, size in zip(ends, window.lengths, strict=True)]
        assert b"".join(digest_of_bytes(part, SEED) for part in parts) == window.digests
        found.append(whole)
    return b"".join(found)


def test_the_chunks_make_up_the_file(tmp_path: Path) -> None:
    content = os.urandom(SIZE)
    (tmp_path / "large").write_bytes(content)
    with _opened(tmp_path / "large") as file:
        assert file.is_worthwhile
        assert _read(file) == content
        assert file.digest == digest_of_bytes(content, SEED)
        assert file.extents is None


def test_a_file_with_holes_comes_without_them(tmp_path: Path) -> None:
    first, second = os.urandom(150_000), os.urandom(70_000)
    with (tmp_path / "sparse").open("wb") as target:
        target.seek(1 << 20)
        target.write(first)
        target.seek(3 << 20)
        target.write(second)
        target.truncate(5 << 20)
    whole = (tmp_path / "sparse").read_bytes()
    with _opened(tmp_path / "sparse") as file:
        assert file.extents
        pairs = zip(file.extents[::2], file.extents[1::2], strict=True)
        stored = b"".join(whole[at : at + length] for at, length in pairs)
        assert _read(file) == stored
        assert first in stored
        assert second in stored
        assert len(stored) < 300_000
        assert file.digest == digest_of_bytes(whole, SEED)


@pytest.mark.parametrize("size", [0, 1000, 150_000])
def test_one_that_got_shorter_has_no_digest(tmp_path: Path, size: int) -> None:
    content = os.urandom(SIZE)
    (tmp_path / "large").write_bytes(content)
    with _opened(tmp_path / "large") as file:
        os.truncate(tmp_path / "large", size)
        assert content.startswith(_read(file))
        assert file.digest is None


def test_one_that_cannot_be_read_to_its_end_has_no_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "large").write_bytes(os.urandom(SIZE))
    found = os.preadv

    def broken(descriptor: int, rooms: list[memoryview], offset: int) -> int:
        if offset > SIZE // 2:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return found(descriptor, rooms, offset)

    monkeypatch.setattr(os, "preadv", broken)
    with _opened(tmp_path / "large") as file:
        assert len(_read(file)) < SIZE
        assert file.digest is None


@pytest.mark.parametrize(("data", "size"), [(60_000, 60_000), (60_000, 1 << 30)])
def test_one_with_little_content_is_not_worth_it(tmp_path: Path, data: int, size: int) -> None:
    (tmp_path / "file").write_bytes(os.urandom(data))
    os.truncate(tmp_path / "file", size)
    with _opened(tmp_path / "file") as file:
        assert not file.is_worthwhile


def test_one_with_more_holes_than_any_reader_takes_is_not_worth_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(os.urandom(SIZE))
    try:
        os.truncate(tmp_path / "file", MAX_HOLE_BYTES + 2 * SIZE)
    except OSError:
        pytest.skip("no file is that long here")
    with _opened(tmp_path / "file") as file:
        assert not file.is_worthwhile
