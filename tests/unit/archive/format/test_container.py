"""One frame at a time: whatever is in it, everybody's `lz4` reads it, and it fits its room."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from scratchflow.archive.format.container import (
    BLOCK_BYTES,
    MAX_FRAME_BYTES,
    MAX_PACKED_BYTES,
    compress_frame,
    decompress_frame,
)

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


@pytest.mark.slow
@pytest.mark.parametrize("level", [0, 2, 3, 12])
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_a_frame_comes_back_from_lz4_and_from_us(content: bytes, level: int) -> None:
    out = memoryview(bytearray(MAX_PACKED_BYTES))
    packed = bytes(out[: compress_frame(memoryview(content), level, out)])
    assert decompress_frame(packed, len(content)) == content
    plain = subprocess.run(["lz4", "-dc"], input=packed, stdout=subprocess.PIPE, check=True)
    assert plain.stdout == content


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_a_frame_as_small_as_possible_is_never_larger_and_comes_back(content: bytes) -> None:
    out = memoryview(bytearray(MAX_PACKED_BYTES))
    fast = compress_frame(memoryview(content), 0, out)
    packed = bytes(out[: compress_frame(memoryview(content), 0, out, smallest=True)])
    assert len(packed) <= fast
    assert decompress_frame(packed, len(content)) == content
    plain = subprocess.run(["lz4", "-dc"], input=packed, stdout=subprocess.PIPE, check=True)
    assert plain.stdout == content


def test_a_program_becomes_a_tenth_smaller_when_time_is_taken_for_it() -> None:
    program = Path(sys.executable).resolve().read_bytes()[: 4 << 20]
    out = memoryview(bytearray(MAX_PACKED_BYTES))
    fast = compress_frame(memoryview(program), 0, out)
    assert compress_frame(memoryview(program), 0, out, smallest=True) < 0.9 * fast


def test_what_hardly_shrinks_costs_little_room() -> None:
    """LZ4 looks less closely after a block that hardly shrank: not so that the archive would show it."""
    content = CONTENTS["half noise"]
    out = memoryview(bytearray(MAX_PACKED_BYTES))
    whole = compress_frame(memoryview(content), 0, out)
    blocks = [content[start : start + BLOCK_BYTES] for start in range(0, len(content), BLOCK_BYTES)]
    alone = sum(compress_frame(memoryview(block), 0, out) for block in blocks)
    assert whole <= 1.02 * alone
