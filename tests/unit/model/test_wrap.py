"""Lines are broken at spaces; what is copied stays in one piece."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.model.text import cells
from scratchflow.model.wrap import broken

WORDS = st.lists(st.text("abc/日(.;)", min_size=1, max_size=12), min_size=1, max_size=20)
COMMANDS = st.lists(st.text("ab -", min_size=1, max_size=20).map(lambda text: f"`{text}`"))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("short", ["short"]),
        ("one two three fours five", ["one two three", "  fours five"]),
        ("see what `scratchflow snapshots list` shows", ["see what", "  `scratchflow snapshots list`", "  shows"]),
        ("run (`a b`), then `c d`; done", ["run (`a b`), then", "  `c d`; done"]),
        ("hint: `/a/path/longer/than/a/line` is it", ["hint: `/a/path/longer/than/a/line`", "  is it"]),
        ("it is at /a/path/longer/than/a/line", ["it is at", "  /a/path/longer/than/a/line"]),
        ("label    aligned with spaces", ["label    aligned", "  with spaces"]),
        ("a lone ` is only a character of it", ["a lone ` is only a", "  character of it"]),
        ("日本 日本 日本 日本 日本", ["日本 日本 日本", "  日本 日本"]),
        ("restored 1 file (9 B) written", ["restored 1 file", "  (9 B) written"]),
        ("all of it, in 0.18 s", ["all of it, in", "  0.18 s"]),
        ("it takes, say, 1.5 GiB there", ["it takes, say,", "  1.5 GiB there"]),
        ("on the node-1 stays", ["on the node-1", "  stays"]),
    ],
)  # fmt: skip
def test_a_line_is_broken_at_spaces_outside_backticks(text: str, lines: list[str]) -> None:
    assert broken(text, 18, indent="  ") == lines


def test_without_a_width_a_line_is_one_line() -> None:
    assert broken("word " * 100, None) == ["word " * 100]


@pytest.mark.slow
@given(WORDS, COMMANDS, st.integers(25, 60), st.randoms())
def test_nothing_is_lost_and_no_command_is_broken(
    words: list[str], commands: list[str], width: int, order: object
) -> None:
    parts = [*words, *commands]
    order.shuffle(parts)  # type: ignore[attr-defined]
    text = " ".join(parts)
    lines = broken(text, width)
    assert " ".join(lines) == text
    for line in lines:
        assert line.count("`") % 2 == 0
        assert cells(line) <= width
