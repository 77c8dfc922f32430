"""An archive is written in order, however little its destination takes at a time, and ends with an index that opens."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scratchflow.archive.format.container import MAX_PACKED_BYTES, compress_frame
from scratchflow.archive.format.tar_headers import END_OF_ARCHIVE
from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.archive.read.archive_file import open_index
from scratchflow.archive.write.archive_out import ArchiveOut
from scratchflow.model.errors.store import TargetFull
from tests.unit.archive.conftest import Bench, fill


def packed(content: bytes) -> memoryview:
    room = memoryview(bytearray(MAX_PACKED_BYTES))
    return room[: compress_frame(memoryview(content), 0, room)]


class OneByte:
    """Takes one byte at a time."""

    def __init__(self) -> None:
        self.content = bytearray()

    def write(self, content: bytes, /) -> int:
        self.content += content[:1]
        return 1


def test_frames_follow_each_other_and_everything_is_hashed(tmp_path: Path) -> None:
    out = OneByte()
    archive = ArchiveOut(out, "A")
    first, second = packed(b"one " * 9), packed(b"two")
    archive.add_frame(first, 36)
    archive.add_frame(second, 3)
    assert list(archive.frames.raw_ends) == [36, 39]
    assert list(archive.frames.packed_ends) == [len(first), len(first) + len(second)]
    assert archive.written == len(out.content)
    assert archive.digest.text() == WholeDigest().text(bytes(out.content))
    path = tmp_path / "archive.lz4"
    path.write_bytes(out.content)
    done = subprocess.run(["lz4", "-dc", path], stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"one " * 9 + b"two"


def test_the_index_that_is_appended_opens(bench: Bench) -> None:
    fill(bench.work)
    index = bench.backup("A")
    with bench.path("B").open("wb", buffering=0) as out:
        archive = ArchiveOut(out.fileno(), "B")
        archive.add_frame(packed(END_OF_ARCHIVE), len(END_OF_ARCHIVE))
        index.id, index.archives = "B", [*index.archives, archive.frames]
        archive.append_index(index)
    assert archive.written == bench.path("B").stat().st_size
    assert list(open_index(bench.path("B")).names) == list(index.names)


def test_a_full_disk_is_told_as_that() -> None:
    with open("/dev/full", "wb", buffering=0) as out, pytest.raises(TargetFull):
        ArchiveOut(out, "A").append(b"x")
