"""Foreign text cannot forge a line or drive a terminal."""

from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from scratchflow.model.text import closest, few_lines, last_line, printable


def test_rich_markup_in_a_name_stays_as_it_is() -> None:
    assert printable("data[/]train].bin") == "data[/]train].bin"


def test_control_characters_are_shown_as_escapes() -> None:
    assert printable("a\nb\x1b[31m\x9b") == r"a\nb\x1b[31m\x9b"


def test_bytes_that_are_not_utf8_are_shown_as_bytes() -> None:
    assert printable(os.fsdecode(b"caf\xe9.txt")) == r"caf\xe9.txt"


def test_bidirectional_overrides_are_shown_as_escapes() -> None:
    assert printable("exe\u202egpj") == r"exe\u202egpj"


@given(st.text(alphabet=st.characters()))
def test_whatever_comes_in_one_encodable_line_comes_out(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    shown.encode("utf-8")


def test_a_near_miss_finds_its_word() -> None:
    assert closest("worksapce", ["workspace", "store", "scratch"]) == "workspace"


def test_a_far_miss_finds_nothing() -> None:
    assert closest("zebra", ["workspace", "store"]) is None


def test_long_words_of_a_tool_keep_their_beginning_and_their_end() -> None:
    words = few_lines("\n".join(f"line {number}\n" for number in range(100)))
    assert words.startswith("line 0 | line 1 |")
    assert words.endswith("| line 99")
    assert few_lines("a\n\n  b\n") == "a | b"
    long = few_lines("begin" + "x" * 5000 + "end")
    assert len(long) < 700
    assert (long[:5], long[-3:]) == ("begin", "end")


def test_the_last_line_has_no_carriage_return_in_it() -> None:
    said = b"Connection closed by remote host\r\nConnection to node-1 closed.\r\n"
    assert last_line(said) == "Connection to node-1 closed."
    assert last_line("10%\r20%\r") == "20%"
