"""The digest of a content is the same whichever way it is read."""

from __future__ import annotations

import os
from pathlib import Path

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
