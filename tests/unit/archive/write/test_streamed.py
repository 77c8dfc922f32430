"""What one thread writes, another one gets: all of it, in order, and never too much at once."""

from __future__ import annotations

import threading

import pytest

from scratchflow.archive.write.archive_out import Out
from scratchflow.archive.write.streamed import PIECE_BYTES, Streamed

DATA = bytes(range(256)) * 4096 * 3


def test_everything_comes_in_order_and_then_the_result() -> None:
    def write(out: Out) -> str:
        for start in range(0, len(DATA), 700_001):
            out.write(DATA[start : start + 700_001])
        return "done"

    streamed = Streamed(write)
    found = list(streamed)
    assert b"".join(found) == DATA
    assert max(map(len, found)) <= PIECE_BYTES
    assert streamed.result == "done"


def test_an_error_comes_after_what_was_written_before_it() -> None:
    def write(out: Out) -> None:
        out.write(b"begun")
        raise OSError("the disk")

    found: list[bytes] = []
    with pytest.raises(OSError, match="the disk"):
        found.extend(Streamed(write))
    assert b"".join(found) == b"begun"


def test_a_writer_that_nobody_listens_to_is_stopped_and_has_not_run_ahead() -> None:
    written: list[int] = []
    stopped = threading.Event()

    def write(out: Out) -> None:
        try:
            while True:
                out.write(bytes(PIECE_BYTES))
                written.append(1)
        finally:
            stopped.set()

    streamed = Streamed(write)
    taken = iter(streamed)
    next(taken)
    streamed.close()
    assert stopped.is_set()
    assert len(written) < 64
    streamed.close()


def test_one_that_was_never_begun_closes() -> None:
    Streamed(lambda _: None).close()
