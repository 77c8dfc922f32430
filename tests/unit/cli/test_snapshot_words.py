"""What people read of snapshots: paths as they are typed, and what was done or would be."""

from __future__ import annotations

import pytest

from scratchflow.cli.snapshot_words import diffed, exported, marked
from scratchflow.model.results import (
    PathChange,
    SnapshotExported,
    SnapshotsDiffed,
    SnapshotsMarked,
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


def test_a_file_is_named_with_the_machine_that_it_is_on() -> None:
    done = SnapshotExported(snapshot=FIRST, path="/x\n.tar.lz4", bytes=1, host="node-9")
    (line,) = exported(done)
    assert line.startswith("wrote `/x\\n.tar.lz4` on `node-9` (")
