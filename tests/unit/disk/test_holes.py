"""Zeros become holes, and every byte is read back as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.disk.holes import write_with_holes

MIB = 1 << 20


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0",
        b"end" + bytes(MIB),
        bytes(MIB) + b"begin",
        b"a" + bytes(3 * MIB) + b"b" + bytes(70_001),
    ],
)
@pytest.mark.parametrize("step", [1000, 1 << 16, 1 << 22])
def test_what_is_written_is_read_back(tmp_path: Path, content: bytes, step: int) -> None:
    file = tmp_path / "file"
    with file.open("xb") as writer:
        for start in range(0, len(content), step):
            write_with_holes(writer, content[start : start + step])
        writer.truncate()
    assert file.read_bytes() == content


def test_zeros_take_no_room(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with file.open("xb") as writer:
        write_with_holes(writer, b"x" + bytes(32 * MIB))
        writer.truncate()
    found = os.stat(file)
    assert found.st_size == 32 * MIB + 1
    assert found.st_blocks * 512 < MIB
