"""Blocks packed and unpacked in place are the ones that `lz4.block` makes, and nothing is written beyond their room."""

from __future__ import annotations

import contextlib
import random
import sys

import pytest
from lz4 import block as lz4_block

from scratchflow.archive.format import lz4_blocks
from scratchflow.archive.format.lz4_blocks import pack_block, unpack_block
from scratchflow.archive.malformed import Malformed

_NOISE = random.Random(1).randbytes(300_000)  # noqa: S311 - the same every time
_GUARD = b"\xa5" * 64

CONTENTS = {
    "one byte": b"x",
    "twelve equal bytes": b"x" * 12,
    "thirteen equal bytes": b"x" * 13,
    "text": b"the same few words again and again, " * 7000,
    "zeros": bytes(256 << 10),
    "noise": _NOISE,
    "half noise": b"".join(_NOISE[at : at + 300] + bytes(100) for at in range(0, 150_000, 300)),
}


@pytest.fixture(params=["in place", "lz4.block alone"], autouse=True)
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways. The wheels for Linux let their functions be called: else all would be slower, and nobody would know."""
    if request.param == "lz4.block alone":
        monkeypatch.setattr(lz4_blocks, "_native", lambda: None)
    elif sys.platform == "linux":
        assert lz4_blocks._native() is not None


@pytest.mark.parametrize("acceleration", [1, 2])
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_a_block_is_what_the_library_makes_of_it(content: bytes, acceleration: int) -> None:
    expected = lz4_block.compress(content, mode="fast", acceleration=acceleration, store_size=False)
    for raw in (memoryview(content), memoryview(bytearray(content))):
        out = bytearray(len(content)) + _GUARD
        count = pack_block(raw, memoryview(out)[: len(content)], acceleration)
        assert out.endswith(_GUARD)
        if len(expected) >= len(content):
            assert count == 0
        else:
            assert bytes(out[:count]) == expected


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_a_block_comes_back_and_nothing_beside_it_is_touched(content: bytes) -> None:
    packed = lz4_block.compress(content, store_size=False)
    for stored in (packed, memoryview(bytearray(packed))):
        room = bytearray(len(content)) + _GUARD
        unpack_block(stored, memoryview(room)[: len(content)])
        assert room == content + _GUARD


@pytest.mark.parametrize("room_bytes", [1, 100, 251_999, 252_001, 400_000])
def test_a_block_of_another_length_is_malformed(room_bytes: int) -> None:
    packed = bytearray(lz4_block.compress(CONTENTS["text"], store_size=False))
    room = bytearray(room_bytes) + _GUARD
    with pytest.raises(Malformed):
        unpack_block(memoryview(packed), memoryview(room)[:room_bytes])
    assert room.endswith(_GUARD)


def test_whatever_the_bytes_are_nothing_is_written_beyond_the_room() -> None:
    """Half of these are blocks with one changed byte, half are noise."""
    chance = random.Random(2)  # noqa: S311
    packed = lz4_block.compress(CONTENTS["half noise"], store_size=False)
    for number in range(400):
        stored = bytearray(packed)
        stored[chance.randrange(len(stored))] ^= 1 << chance.randrange(8)
        if number % 2:
            stored = bytearray(chance.randbytes(chance.randrange(1, 5000)))
        wanted = chance.choice([1, 13, 4096, len(CONTENTS["half noise"])])
        room = bytearray(wanted) + _GUARD
        with contextlib.suppress(Malformed):
            unpack_block(memoryview(stored), memoryview(room)[:wanted])
        assert room.endswith(_GUARD)


def test_a_block_of_no_bytes_is_malformed() -> None:
    with pytest.raises(Malformed):
        unpack_block(memoryview(bytearray()), memoryview(bytearray(10)))


def test_too_little_room_for_the_packed_block_is_as_if_it_did_not_shrink() -> None:
    raw = memoryview(bytearray(CONTENTS["half noise"]))
    out = bytearray(1000) + _GUARD
    assert pack_block(raw, memoryview(out)[:1000], 1) == 0
    assert out.endswith(_GUARD)


@pytest.mark.parametrize("loss", [ImportError, OSError, AttributeError])
def test_without_the_functions_the_library_serves(
    monkeypatch: pytest.MonkeyPatch, loss: type[Exception]
) -> None:
    import ctypes

    def refuse(_: str) -> None:
        raise loss

    monkeypatch.undo()
    monkeypatch.setattr(ctypes, "CDLL", refuse)
    lz4_blocks._native.cache_clear()
    try:
        raw, out = memoryview(bytearray(CONTENTS["text"])), memoryview(bytearray(300_000))
        count = pack_block(raw, out, 1)
        assert out[:count] == lz4_block.compress(raw, store_size=False)
    finally:
        lz4_blocks._native.cache_clear()
