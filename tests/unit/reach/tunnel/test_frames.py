"""Frames arrive as they were sent, however they were cut on the way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.reach.tunnel.frames import (
    ALIVE,
    DATA,
    HEAD,
    MOST_BYTES,
    OPEN,
    Frames,
    NotAFrame,
    frame,
    taken_frame,
)

FRAMES = st.lists(
    st.tuples(st.integers(OPEN, ALIVE), st.integers(0, 0xFFFFFFFF), st.binary(max_size=300)),
    max_size=10,
)


@given(FRAMES, st.integers(1, 50))
def test_what_is_sent_arrives(sent: list[tuple[int, int, bytes]], piece: int) -> None:
    text = b"".join(frame(*one) for one in sent)
    frames = Frames()
    found: list[tuple[int, int, bytes]] = []
    for start in range(0, len(text), piece):
        for kind, number, content in frames.take(text[start : start + piece]):
            found.append((kind, number, bytes(content)))
    assert found == sent


def test_a_count_travels_with_its_connection() -> None:
    ((_, connection, content),) = Frames().take(taken_frame(7, 1 << 20))
    assert (connection, int.from_bytes(content, "big")) == (7, 1 << 20)


@pytest.mark.parametrize("text", [HEAD.pack(99, 0, 0), HEAD.pack(DATA, 1, MOST_BYTES + 1)])
def test_what_is_no_frame_is_refused(text: bytes) -> None:
    with pytest.raises(NotAFrame):
        list(Frames().take(text))
