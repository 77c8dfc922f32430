"""What people read of snapshots: paths as they are typed, and what was done or would be."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.cli import snapshot_words
from scratchflow.cli.snapshot_words import as_listed, diffed, listed, listed_in_full, marked, pruned
from scratchflow.model.results.snapshots import (
    NOT_ASKED_FOR,
    BadSnapshot,
    PathChange,
    SnapshotRow,
    SnapshotsDiffed,
    SnapshotsListed,
    SnapshotsMarked,
    SnapshotsPruned,
    SnapshotsVerified,
)

FIRST, SECOND = "20261115T195140Z-570643", "20261116T195140Z-abcdef"


def test_paths_that_differ_are_named_as_restore_takes_them() -> None:
    paths = [
        PathChange(action="added", path="work/src/a"),
        PathChange(action="removed", path="work/env/x"),
        PathChange(action="changed", path="env/x"),
    ]
    found = SnapshotsDiffed(
        older=FIRST,
        newer="workspace",
        added=1,
        removed=1,
        changed=1,
        paths=paths,
        roots=["work", "env"],
    )
    *lines, last = diffed(found)
    # `env/x` would mean the other root.
    assert lines == ["+ src/a", "- work/env/x", "M env/x"]
    assert last.startswith("1 added, 1 changed, 1 removed since snapshot 570643 (")


@pytest.mark.parametrize(
    ("kept", "dry_run", "said"),
    [
        (True, False, ["is kept already", "stays until you run `scratchflow snapshots unkeep"]),
        (False, False, ["was not marked", "is no longer marked"]),
        (True, True, ["is kept already", "would keep abcdef"]),
    ],
)
def test_a_mark_is_told_with_what_it_changes(kept: bool, dry_run: bool, said: list[str]) -> None:
    done = SnapshotsMarked(snapshots=[FIRST, SECOND], changed=[SECOND], kept=kept, dry_run=dry_run)
    lines = list(marked(done))
    assert len(lines) == len(said)
    assert all(words in line for line, words in zip(lines, said, strict=True))


def test_a_removal_by_name_says_that_the_next_backup_is_a_full_one() -> None:
    done = SnapshotsPruned(
        kept={SECOND: [NOT_ASKED_FOR]},
        removed=[FIRST],
        freed_bytes=0,
        blocked=None,
        dry_run=False,
        next_is_full=True,
    )
    assert list(pruned(done))[-1] == "The next backup is a full one: it stores every file anew."


@pytest.mark.parametrize(("reasons", "is_said"), [(["kept", "last"], True), (["last"], False)])
def test_of_marked_ones_it_is_said_what_comes_before_they_can_be_removed(
    reasons: list[str], is_said: bool
) -> None:
    kept = {FIRST: reasons, SECOND: ["newest"]}
    done = SnapshotsPruned(kept=kept, removed=[], freed_bytes=0, blocked=None, dry_run=True)
    said = list(pruned(done))[-1]
    assert ("a marked one after `scratchflow snapshots unkeep ID`" in said) is is_said


def _listed(*, fork: bool) -> SnapshotsListed:
    row = SnapshotRow(
        id=FIRST,
        time="2026-11-15T19:51:40Z",
        kind="incremental",
        parent=None,
        node="node-1",
        files=12_345,
        bytes=25_800_000,
        stored_bytes=1_100,
        verified=True,
        message="first build",
        damaged=None,
        fork=fork,
    )
    return SnapshotsListed(snapshots=[row], now="2026-11-16T19:51:40Z")


def test_what_could_not_be_checked_is_counted_apart_from_what_is_damaged() -> None:
    newer = BadSnapshot(id=FIRST, reason="made by a newer scratchflow")
    found = SnapshotsVerified(checked=2, bad=[], newer=[newer])
    one, counts = snapshot_words.verified(found)
    assert one.startswith("- 570643 ")
    assert one.endswith(": not checked: made by a newer scratchflow")
    assert counts == "2 checked, 0 damaged, 1 not checked"


def test_a_list_with_a_fork_says_what_that_is() -> None:
    for words in (listed, listed_in_full):
        assert list(words(_listed(fork=True)))[-1].startswith("[fork]: work that went another way")
        assert not any("[fork]" in line for line in words(_listed(fork=False)))


def test_a_list_says_how_much_room_all_of_it_takes() -> None:
    found = msgspec.structs.replace(_listed(fork=True), store_bytes=3 << 20)
    for words in (listed, listed_in_full):
        assert list(words(found))[-2] == "1 snapshot, 3.00 MiB in the store"


def test_programs_get_what_the_list_prints_of_each() -> None:
    row = msgspec.structs.replace(
        _listed(fork=True).snapshots[0],
        message=f"before restoring {SECOND}",
        stays=["kept", "full"],
    )
    (shown,) = as_listed([row])
    assert (shown.shown_message, shown.marks) == ("before restoring abcdef", ["kept", "fork"])
    assert (shown.message, shown.stays) == (row.message, row.stays)
    line = next(listed(SnapshotsListed(snapshots=[row])))
    assert "  before restoring abcdef  [kept, fork]" in line
    assert line.endswith("[kept, fork]")
    row = msgspec.structs.replace(row, stays=["job"], fork=False)
    assert next(listed(SnapshotsListed(snapshots=[row]))).endswith("[code of a job]")


def test_the_full_list_fits_a_small_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_words, "terminal_width", lambda: 80)
    first, second = listed_in_full(_listed(fork=False))
    assert first.endswith("12,345 files")
    assert second.split("  ")[2:4] == ["24.6 MiB", "1.07 KiB stored"]
    assert max(len(first), len(second)) <= 80
