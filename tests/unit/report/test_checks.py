"""A check as lines for people."""

from __future__ import annotations

from scratchflow.report.checks import check_lines


def test_a_check_shows_its_mark_short_ids_and_its_fix() -> None:
    detail = "a restore of 20261115T093000Z-abcdef did not finish"
    fix = "`scratchflow restore 20261115T093000Z-abcdef`"
    assert check_lines("workspace", detail, fix, ok=False) == [
        "✗ workspace: a restore of abcdef did not finish",
        "  fix: `scratchflow restore abcdef`",
    ]
    assert check_lines("store", "`/fsx/x`\x1b[1m", "", ok=True) == ["✓ store: `/fsx/x`\\x1b[1m"]
