"""What the two ends of a sync agree on."""

from __future__ import annotations

import os

import msgspec
import pytest

from scratchflow.reach.sync.frames import PEER, TEXT, Start, write_all


def test_what_is_to_run_arrives_as_it_was_sent() -> None:
    start = Start(token="", words=["unison", "-ignore", "Name *\n*"], leads=True)
    line = msgspec.json.encode(start)
    assert b"\n" not in line
    assert msgspec.json.decode(line, type=Start) == start


def test_the_streams_are_two() -> None:
    assert TEXT != PEER


def test_a_large_piece_is_written_whole() -> None:
    reader, writer = os.pipe()
    content = os.urandom(30_000)
    write_all(writer, content)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        assert file.read() == content
    with pytest.raises(OSError, match="Bad file descriptor"):
        write_all(writer, b"x")
