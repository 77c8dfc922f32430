"""The question before snapshots are removed: what goes, and how little that may free."""

from __future__ import annotations

import pytest

from scratchflow.cli import removal as module
from scratchflow.cli.removal import removal_in_words
from scratchflow.model.results.snapshots import SnapshotRow, SnapshotsPruned
from scratchflow.testing.store import make_id

MIB = 1 << 20
PAPER = SnapshotRow(
    id=make_id(0, "570643"),
    time="2026-11-15T09:30:00Z",
    kind="full",
    parent=None,
    files=32,
    bytes=3 * MIB,
    stored_bytes=MIB,
    node="n1",
    message="for the paper",
    named=True,
    verified=True,
    damaged=None,
    stays=["kept", "safety", "fork"],
)


def planned(freed_bytes: int, *, next_is_full: bool = False) -> SnapshotsPruned:
    return SnapshotsPruned(
        kept={},
        removed=[PAPER.id],
        freed_bytes=freed_bytes,
        blocked=None,
        dry_run=True,
        next_is_full=next_is_full,
    )


def test_names_and_marks_are_shown_and_what_it_frees_is_not_what_they_hold() -> None:
    heading, row, frees = removal_in_words("Remove for good:", [PAPER], planned(2500))
    assert heading == "Remove for good:"
    assert row.startswith("  570643  ")
    assert '32 files, 3.00 MiB  "for the paper"  [kept, taken before a restore, fork]' in row
    assert frees == "That frees at least 2.44 KiB; what other snapshots need stays."


def test_a_removal_that_frees_nothing_and_costs_a_full_backup_says_so() -> None:
    *_, frees, costs = removal_in_words("Remove for good:", [PAPER], planned(0, next_is_full=True))
    assert frees == "That may free nothing: what other snapshots need stays."
    assert costs == "The next backup would then be a full one: it stores every file anew."


def test_no_word_is_broken_by_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "terminal_width", lambda: 60)
    lines = list(removal_in_words("Would remove for good:", [PAPER], planned(0)))
    assert all(len(line) <= 60 for line in lines)
    assert "taken before a restore" in " ".join(" ".join(lines).split())
