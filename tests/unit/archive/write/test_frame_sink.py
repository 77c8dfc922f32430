"""A tar stream becomes frames: in order, whole, hashed, and with every error of the destination."""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from scratchflow.archive.format.container import MAX_PACKED_BYTES, compress_frame
from scratchflow.archive.format.whole_digest import WholeDigest
from scratchflow.archive.write.archive_out import FRAME_BYTES
from scratchflow.archive.write.frame_sink import _MAX_SMALLEST_BYTES, FrameSink
from scratchflow.model.errors.store import TargetFull

_CONTENT = random.Random(1).randbytes(1 << 20) * 9 + b"the end"  # noqa: S311 - the same every time


def _unpacked(path: Path) -> bytes:
    return subprocess.run(["lz4", "-dc", path], stdout=subprocess.PIPE, check=True).stdout


class _FewBytes:
    """A destination that takes a part of what it is given, as a pipe or a network may."""

    def __init__(self) -> None:
        self.content = bytearray()

    def write(self, content: bytes, /) -> int:
        taken = content[:100_003]
        self.content += taken
        return len(taken)


@pytest.mark.parametrize("threads", [1, 3])
def test_what_goes_in_comes_out_in_order(tmp_path: Path, threads: int) -> None:
    path = tmp_path / "archive.lz4"
    with path.open("wb", buffering=0) as out:
        sink = FrameSink(out.fileno(), archive_id="A", level=0, threads=threads)
        for start in range(0, len(_CONTENT), 700_001):
            assert sink.position == start
            sink.put(_CONTENT[start : start + 700_001])
        sink.close()
    assert _unpacked(path) == _CONTENT
    assert sink.digest.text() == WholeDigest().text(path.read_bytes())
    assert sink.written == path.stat().st_size == sink.frames.packed_ends[-1]
    ends = [0, *sink.frames.raw_ends]
    assert ends[-1] == len(_CONTENT)
    assert all(0 < end - start <= FRAME_BYTES for start, end in pairwise(ends))


@pytest.mark.slow
def test_only_so_much_is_made_as_small_as_possible(tmp_path: Path) -> None:
    program = Path(sys.executable).resolve().read_bytes()[:FRAME_BYTES]
    with (tmp_path / "archive.lz4").open("wb", buffering=0) as out:
        sink = FrameSink(out, archive_id="A", level=0, threads=2)
        sink.put(program)
        sink.flush()
        while sink.position < len(program) + _MAX_SMALLEST_BYTES:
            sink.put(program)
            sink.make_smallest()
            sink.flush()
        sink.put(program)
        sink.make_smallest()
        sink.close()
    assert _unpacked(tmp_path / "archive.lz4") == program * (sink.position // len(program))
    ends = [0, *sink.frames.packed_ends]
    fast, *smallest, late = [end - start for start, end in pairwise(ends)]
    assert max(smallest) < 0.9 * fast
    assert late == fast


def test_a_frame_that_was_packed_elsewhere_comes_after_what_was_put_before(tmp_path: Path) -> None:
    room = memoryview(bytearray(MAX_PACKED_BYTES))
    packed = room[: compress_frame(memoryview(b"packed elsewhere"), 0, room)]
    released: list[str] = []
    path = tmp_path / "archive.lz4"
    with path.open("wb", buffering=0) as out:
        sink = FrameSink(out, archive_id="A", level=0, threads=1)
        sink.put(b"before ")
        begins = sink.put_frame(packed, 16, lambda: released.append("done"))
        sink.put(b" after")
        sink.close()
    assert begins == 7
    assert released == ["done"]
    assert _unpacked(path) == b"before packed elsewhere after"


def test_a_destination_that_takes_a_few_bytes_at_a_time_gets_all_of_them(tmp_path: Path) -> None:
    out = _FewBytes()
    sink = FrameSink(out, archive_id="A", level=0, threads=2)
    sink.put(_CONTENT)
    sink.close()
    (tmp_path / "archive.lz4").write_bytes(out.content)
    assert _unpacked(tmp_path / "archive.lz4") == _CONTENT


def test_room_is_made_without_an_empty_frame(tmp_path: Path) -> None:
    with (tmp_path / "archive.lz4").open("wb", buffering=0) as out:
        sink = FrameSink(out, archive_id="A", level=0, threads=1)
        sink.make_room(FRAME_BYTES + 1)
        sink.put(b"x")
        sink.make_room(FRAME_BYTES - 1)
        sink.put(b"y")
        sink.make_room(FRAME_BYTES)
        sink.put(b"z")
        sink.close()
    assert list(sink.frames.raw_ends) == [2, 3]


def test_a_full_disk_is_told_as_that() -> None:
    with open("/dev/full", "wb", buffering=0) as out:
        sink = FrameSink(out, archive_id="A", level=0, threads=1)
        sink.put(b"x")
        with pytest.raises(TargetFull):
            sink.close()


def test_nothing_is_written_after_it_was_given_up(tmp_path: Path) -> None:
    path = tmp_path / "archive.lz4"
    with path.open("wb", buffering=0) as out:
        sink = FrameSink(out, archive_id="A", level=0, threads=1)
        sink.put(b"x")
        sink.abort()
        assert path.stat().st_size == 0
        with pytest.raises(RuntimeError):
            sink.flush()
        assert path.stat().st_size == 0
