"""The digest of a content is the same whichever way it is read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from scratchflow.archive.files.digest import (
    StreamDigest,
    digest_of_bytes,
    digest_of_file,
    read_buffer,
)
from scratchflow.archive.tree.index import DIGEST_BYTES

_BUFFER = len(read_buffer())


@pytest.mark.parametrize("size", [0, 1, _BUFFER - 1, _BUFFER, _BUFFER + 1, 3 * _BUFFER + 7])
@pytest.mark.parametrize("seed", [0, (1 << 64) - 1])
def test_bytes_stream_and_file_agree(tmp_path: Path, size: int, seed: int) -> None:
    content = os.urandom(size)
    (tmp_path / "file").write_bytes(content)
    stream = StreamDigest(seed=seed)
    for start in range(0, size, 1000):
        stream.update(content[start : start + 1000])
    with (tmp_path / "file").open("rb") as file:
        of_file = digest_of_file(file.fileno(), seed, read_buffer())
    assert of_file == stream.digest() == digest_of_bytes(content, seed)
    assert len(of_file) == DIGEST_BYTES


def test_a_buffer_that_was_used_before_leaves_no_trace(tmp_path: Path) -> None:
    buffer = read_buffer()
    for content in (b"x" * 5000, b"short"):
        (tmp_path / "file").write_bytes(content)
        with (tmp_path / "file").open("rb") as file:
            assert digest_of_file(file.fileno(), 7, buffer) == digest_of_bytes(content, 7)


def test_another_seed_is_another_digest() -> None:
    assert digest_of_bytes(b"the same", 1) != digest_of_bytes(b"the same", 2)


def test_a_directory_is_an_error_and_no_digest(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(IsADirectoryError):
        digest_of_file(descriptor, 0, read_buffer())
    os.close(descriptor)


@pytest.mark.parametrize(
    "data",
    [
        [],
        [(0, 1)],
        [(5 * _BUFFER, 4096), (9 * _BUFFER - 3, 3 + 2 * _BUFFER)],
        [(0, 100_000), (30 * _BUFFER - 7, 7)],
    ],
)
def test_holes_are_digested_as_zeros_and_not_read(
    tmp_path: Path, data: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 30 * _BUFFER
    descriptor = _with_holes(tmp_path / "file", size, data)
    content = (tmp_path / "file").read_bytes()
    read: list[int] = []
    monkeypatch.setattr(os, "readv", lambda *_: pytest.fail("reads all of it"))
    preadv = os.preadv

    def counted(*asked: Any) -> int:
        read.append(preadv(*asked))
        return read[-1]

    monkeypatch.setattr(os, "preadv", counted)
    assert digest_of_file(descriptor, 7, read_buffer()) == digest_of_bytes(content, 7)
    assert sum(read) < size / 4
    os.close(descriptor)


@pytest.mark.parametrize("change", ["fills a hole", "grows", "shrinks"])
def test_a_file_with_holes_that_is_written_to_meanwhile_is_read_as_it_is_then(
    tmp_path: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, size = tmp_path / "file", 30 * _BUFFER
    descriptor = _with_holes(file, size, [(_BUFFER, 4096), (20 * _BUFFER, 4096)])
    os.utime(file, ns=(0, 0))
    preadv = os.preadv

    def changed_meanwhile(*asked: Any) -> int:
        if change == "shrinks":
            os.truncate(file, 100)
        else:
            with file.open("r+b") as written:
                written.seek(size if change == "grows" else 5 * _BUFFER)
                written.write(b"new")
        return preadv(*asked)

    monkeypatch.setattr(os, "preadv", changed_meanwhile)
    found = digest_of_file(descriptor, 7, read_buffer())
    assert found == digest_of_bytes(file.read_bytes(), 7)
    os.close(descriptor)


def _with_holes(file: Path, size: int, data: list[tuple[int, int]]) -> int:
    """Opens a new file that has holes around these stretches."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT)
    os.ftruncate(descriptor, size)
    for start, length in data:
        os.pwrite(descriptor, os.urandom(length), start)
    return descriptor
