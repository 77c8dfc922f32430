"""Bytes that follow a request arrive as they were sent, or not at all."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from scratchflow.agent.upload import Upload, rest_of_input, unframed
from scratchflow.model.errors.agent import StreamBroken

DATA = random.Random(3).randbytes(3_000_000)  # noqa: S311 - data


def pieces(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    start = 0
    for size in sizes:
        yield data[start : start + size]
        start += size
    yield data[start:]


def sent(data: bytes = DATA) -> bytes:
    return b"".join(Upload(pieces(data, [1, 0, 70_000, 2_000_000])).frames())


@pytest.mark.parametrize("size", [1, 5, 4096, 1 << 20, 1 << 23])
def test_it_arrives_in_whatever_parts_it_travels(size: int) -> None:
    data = DATA[: size * 40_000]
    raw = sent(data)
    parts = (raw[start : start + size] for start in range(0, len(raw), size))
    with_pauses = (part for each in parts for part in (b"", each))
    assert b"".join(unframed(with_pauses)) == data


def test_nothing_is_something_that_can_be_sent() -> None:
    assert list(unframed(iter([sent(b"")]))) == []


@pytest.mark.parametrize("at", [0, 4, 100, 1_500_000, -1])
def test_a_changed_byte_is_noticed(at: int) -> None:
    raw = bytearray(sent())
    raw[at] ^= 1
    with pytest.raises(StreamBroken):
        list(unframed(iter([bytes(raw)])))


@pytest.mark.parametrize("kept", [0, 2, 5, 1_000_000, -1])
def test_one_that_is_cut_short_is_noticed(kept: int) -> None:
    with pytest.raises(StreamBroken, match="too early"):
        list(unframed(iter([sent()[:kept]])))


def test_a_sender_that_fails_says_so_and_keeps_its_error() -> None:
    def failing() -> Iterator[bytes]:
        yield b"first"
        raise PermissionError("second")

    upload = Upload(failing())
    with pytest.raises(StreamBroken, match="gave up"):
        list(unframed(upload.frames()))
    assert isinstance(upload.error, PermissionError)


def test_a_quiet_sender_shows_that_it_lives_and_a_silent_one_is_given_up() -> None:
    now_s = iter(range(0, 1_000_000, 3))

    def clock() -> float:
        return float(next(now_s))

    quiet = [b"first", *[b""] * 500, b"last"]
    assert b"".join(unframed(Upload(iter(quiet), clock).frames(), clock)) == b"firstlast"
    with pytest.raises(StreamBroken, match="nothing came for 60 s"):
        list(unframed(iter([b"\0\0", *[b""] * 500]), clock))


def test_the_input_is_told_apart_from_its_end() -> None:
    receiving, sending = os.pipe()
    ended: list[str] = []
    rest = rest_of_input(receiving, b"begun", lambda: ended.append("end"))
    assert next(rest) == b"begun"
    assert next(rest) == b""
    os.write(sending, b"more")
    assert next(rest) == b"more"
    os.close(sending)
    assert ended == []
    assert list(rest) == []
    assert ended == ["end"]
    os.close(receiving)
