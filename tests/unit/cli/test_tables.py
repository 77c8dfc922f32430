"""Rows that stay within the terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.cli.tables import aligned, fitted, wrapped
from scratchflow.model.text import cells

PRINTABLE = st.text(st.characters(exclude_categories=["C", "Z", "M"]), max_size=120)


def test_cells_stand_beneath_each_other_and_numbers_end_beneath_each_other() -> None:
    rows = [["a", "1 file", "x"], ["bbb", "1,204 files", ""]]
    assert list(aligned(rows, right={1})) == ["a         1 file  x", "bbb  1,204 files"]


def test_names_in_the_first_column_are_shortened_only_as_far_as_needed() -> None:
    rows = [["a-node-with-a-long-name", "idle"], ["b", "partly used"]]
    assert next(iter(aligned(rows, width=36))) == "a-node-with-a-long-name  idle"
    assert list(aligned(rows, width=25)) == ["a-node-with…  idle", "b             partly used"]
    assert next(iter(aligned(rows, width=5))) == "a-nod…  idle"


def test_another_column_gives_way_before_the_names() -> None:
    rows = [["a-long-profile", "-", "/fsx/projects/group/alice/scratchflow"]]
    (line,) = aligned(rows, width=40, gives_way=(2, 0))
    assert line.startswith("a-long-profile  -  /fsx/projects/")
    assert (cells(line), line[-1]) == (40, "…")
    assert list(aligned(rows, width=20, gives_way=(2, 0))) == ["a-long-p…  -  /fsx/…"]


def test_wide_characters_count_twice() -> None:
    assert list(aligned([["日本", "x"], ["abc", "y"]])) == ["日本  x", "abc   y"]


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (None, '570643  "first build"  [kept]'),
        (29, '570643  "first build"  [kept]'),
        (28, '570643  "first bui…"  [kept]'),
        (22, '570643  "fir…"  [kept]'),
        (21, "570643  [kept]"),
        (10, "570643  […"),
    ],
)
def test_the_name_gives_way_first(width: int | None, line: str) -> None:
    assert fitted("570643", '"first build"', "[kept]", width) == line


def test_a_name_that_a_person_gave_is_seen_before_the_remarks() -> None:
    name, notes = '"better model"', "[before a backup that shrank]"
    fixed = "65e2ff  00:55  just now  incremental  32 files"
    line = fitted(fixed, name, notes, 80, is_named=True)
    assert line == f"{fixed}  {name}  [before a backu…"
    assert name not in fitted(fixed, name, notes, 80)
    assert fitted("570643", '"first build"', "[kept]", 29, is_named=True).endswith("[kept]")


@pytest.mark.slow
@given(PRINTABLE, PRINTABLE, PRINTABLE, st.integers(1, 100), st.booleans())
def test_no_line_is_wider_than_the_terminal(
    fixed: str, name: str, notes: str, width: int, is_named: bool
) -> None:
    assert cells(fitted(fixed, name, notes, width, is_named=is_named)) <= width


@pytest.mark.slow
@given(st.lists(PRINTABLE.filter(bool), max_size=20), st.integers(30, 100))
def test_wrapping_breaks_between_words_only(words: list[str], width: int) -> None:
    lines = list(wrapped("label  ", " ".join(words), width))
    assert " ".join(" ".join(lines).split()) == " ".join(["label", *words]) or not words
    assert list(wrapped("label  ", "a b", None)) == ["label  a b"]
