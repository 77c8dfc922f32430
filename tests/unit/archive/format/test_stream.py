"""A stream in pieces of any size is read in amounts of one's own, and its end is never overlooked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.archive.format.stream import PieceReader
from scratchflow.archive.malformed import Malformed


@pytest.mark.slow
@given(
    pieces=st.lists(st.binary(max_size=20), max_size=10),
    amounts=st.lists(st.integers(0, 30), max_size=10),
)
def test_what_is_read_is_the_stream_whatever_its_pieces(
    pieces: list[bytes], amounts: list[int]
) -> None:
    whole = b"".join(pieces)
    reader = PieceReader(pieces)
    end = 0
    for number, amount in enumerate(amounts):
        if end + amount > len(whole):
            with pytest.raises(Malformed, match="cut short"):
                reader.read(amount)
            return
        if number % 2:
            reader.skip(amount)
        else:
            assert reader.read(amount) == whole[end : end + amount]
        end += amount
        assert reader.position == end
    assert reader.at_end() == (end == len(whole))
    assert reader.drain() == any(whole[end:])
    assert reader.at_end()


def test_pieces_are_passed_on_as_they_come() -> None:
    reader = PieceReader([b"abc", b"", memoryview(b"defg")])
    assert [bytes(piece) for piece in reader.pieces(5)] == [b"abc", b"de"]
    assert reader.read(2) == b"fg"


def test_an_error_of_the_stream_passes_through() -> None:
    def broken() -> object:
        yield b"abc"
        raise Malformed("a checksum is wrong")

    reader = PieceReader(broken())  # type: ignore[arg-type]  # a generator is an iterable
    assert reader.read(3) == b"abc"
    with pytest.raises(Malformed, match="checksum"):
        reader.drain()


def test_peek_shows_what_stays_to_be_read() -> None:
    stream = PieceReader([b"ab", b"", b"cde", b"f"])
    assert bytes(stream.peek(1) or b"") == b"a"
    assert stream.position == 0
    stream.skip(1)
    assert bytes(stream.peek(1) or b"") == b"b"
    assert stream.peek(7) is None
    assert stream.read(5) == b"bcdef"
    assert stream.at_end()
    assert stream.peek(1) is None
