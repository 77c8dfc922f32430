"""One frame at a time: whatever is in it, everybody's `lz4` reads it, and it fits its room."""

from __future__ import annotations

import random
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.archive.format.container import (
    BLOCK_BYTES,
    MAX_FRAME_BYTES,
    MAX_PACKED_BYTES,
    compress_frame,
    decompress_frame,
)
from scratchflow.archive.format.tar_headers import FILE, member_header, plain_file_header

_NOISE = random.Random(1).randbytes(MAX_FRAME_BYTES)  # noqa: S311 - the same every time
_TEXT = b"the same few words again and again, " * (MAX_FRAME_BYTES // 36 + 1)

CONTENTS = {
    "one byte": b"x",
    "text": _TEXT[: BLOCK_BYTES + 1000],
    "exactly two blocks": _TEXT[: 2 * BLOCK_BYTES],
    "noise": _NOISE[: 3 * BLOCK_BYTES - 1],
    "noise, then text": _NOISE[:BLOCK_BYTES] + _TEXT[: 3 * BLOCK_BYTES],
    "half noise": b"".join(
        _NOISE[start : start + 300] + bytes(100) for start in range(0, 4 * BLOCK_BYTES, 300)
    )[: 4 * BLOCK_BYTES],
    "a frame full of noise": _NOISE,
}


@pytest.mark.parametrize("level", [0, 2, 3, 12])
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_a_frame_comes_back_from_lz4_and_from_us(content: bytes, level: int) -> None:
    out = memoryview(bytearray(MAX_PACKED_BYTES))
    packed = bytes(out[: compress_frame(memoryview(content), level, out)])
    assert decompress_frame(packed, len(content)) == content
    plain = subprocess.run(["lz4", "-dc"], input=packed, stdout=subprocess.PIPE, check=True)
    assert plain.stdout == content


def test_what_hardly_shrinks_costs_little_room() -> None:
    """LZ4 looks less closely after a block that hardly shrank: not so that the archive would show it."""
    content = CONTENTS["half noise"]
    out = memoryview(bytearray(MAX_PACKED_BYTES))
    whole = compress_frame(memoryview(content), 0, out)
    blocks = [content[start : start + BLOCK_BYTES] for start in range(0, len(content), BLOCK_BYTES)]
    alone = sum(compress_frame(memoryview(block), 0, out) for block in blocks)
    assert whole <= 1.02 * alone


@given(
    path=st.binary(min_size=1, max_size=120).filter(lambda path: b"\0" not in path),
    mode=st.integers(0, 0o177777),
    mtime_s=st.integers(-(1 << 40), 1 << 40),
    size=st.integers(0, 1 << 40),
    owner=st.tuples(st.integers(0, 1 << 31), st.integers(0, 1 << 31)),
)
def test_the_quick_header_is_the_same_header(
    path: bytes, mode: int, mtime_s: int, size: int, owner: tuple[int, int]
) -> None:
    slow = member_header(path, kind=FILE, mode=mode, mtime_s=mtime_s, size=size, owner=owner)
    assert plain_file_header(path, mode, mtime_s, size, owner) == slow
