"""`snapshots diff` with the workspace as it is: exactly what differs, against the last snapshot or another."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from scratchflow.cli.snapshot_words import diffed, diffed_in_full
from scratchflow.model.errors.snapshots import LatestUnreadable, SnapshotMissing, SnapshotUnreadable
from scratchflow.model.errors.workspace import WorkspaceMissing
from scratchflow.model.requests import Diff, DiffWorkspace
from scratchflow.model.results.snapshots import SnapshotsDiffed
from scratchflow.model.snapshot import seal_manifest
from scratchflow.node.history.live_diff import diff_workspace
from scratchflow.node.history.snapshot_diff import diff_snapshots
from scratchflow.workspace.notes import forget_base, write_base
from tests.unit.conftest import Desk


def differs(desk: Desk, older: str | None = None) -> dict[str, str]:
    return _paths(diff_workspace(desk.context, desk.notify, DiffWorkspace(older=older)))


def _paths(diffed: SnapshotsDiffed) -> dict[str, str]:
    assert diffed.added + diffed.changed + diffed.removed == len(diffed.paths)
    return {one.path or "": one.action for one in diffed.paths}


def test_against_the_last_snapshot(desk: Desk) -> None:
    for name in ("kept", "edited", "touched", "gone", "mode"):
        desk.write(f"work/{name}", name)
    first = desk.backup().snapshot
    assert differs(desk) == {}
    desk.write("work/edited", "otherwise")
    desk.write("work/new/file", "x")
    os.utime(desk.work / "touched", (1, 1))
    (desk.work / "mode").chmod(0o700)
    (desk.work / "gone").unlink()
    (desk.work / "link").symlink_to("kept")
    expected = {
        "work/edited": "changed",
        "work/gone": "removed",
        "work/link": "added",
        "work/mode": "changed",
        "work/new": "added",
        "work/new/file": "added",
    }
    assert differs(desk) == differs(desk, first) == expected
    desk.backup()
    assert differs(desk) == {}
    assert differs(desk, first) == expected


def test_a_directory_that_is_all_new_or_gone_is_told_as_one_with_what_is_in_it(desk: Desk) -> None:
    desk.write("work/old/deep/file", "four")
    desk.write("work/old.txt", "x")
    desk.write("work/part/kept", "x")
    first = str(desk.backup().snapshot)
    shutil.rmtree(desk.work / "old")
    (desk.work / "old.txt").unlink()
    desk.write("work/part/new", "x")
    desk.write("work/fresh/a/file", "12345")
    desk.write("work/fresh/b", "1")
    (desk.work / "empty").mkdir()
    expected = [("added", "work/fresh", 2, 6), ("removed", "work/old", 1, 4)]

    def directories(found: SnapshotsDiffed) -> list[tuple[str, str | None, int, int]]:
        return [(one.action, one.path, one.files, one.bytes) for one in found.directories]

    live = diff_workspace(desk.context, desk.notify, DiffWorkspace(older=None))
    assert directories(live) == expected
    second = str(desk.backup().snapshot)
    between = diff_snapshots(desk.context, desk.notify, Diff(older=first, newer=second))
    assert directories(between) == expected
    assert {one.path for one in live.paths} == {one.path for one in between.paths}
    *lines, counts, hint = diffed(live)
    assert lines == [
        "+ empty",
        "+ fresh/  2 files, 6 B",
        "- old/  1 file, 4 B",
        "- old.txt",
        "+ part/new",
    ]
    assert counts.startswith("6 added, 0 changed, 4 removed")
    assert hint == "the same with `-v` lists what is in these directories"
    assert len(list(diffed_in_full(live))) == len(live.paths) + 1


def test_against_an_older_one_what_was_undone_since_does_not_differ(desk: Desk) -> None:
    desk.write("work/back", "as it was")
    desk.write("work/removed-and-made-again", "x")
    (desk.work / "link").symlink_to("a")
    first = desk.backup().snapshot
    desk.write("work/back", "something else")
    desk.write("work/passing", "x")
    (desk.work / "removed-and-made-again").unlink()
    (desk.work / "link").unlink()
    desk.backup()
    desk.write("work/back", "as it was")
    desk.write("work/removed-and-made-again", "x")
    (desk.work / "link").symlink_to("a")
    (desk.work / "passing").unlink()
    assert differs(desk, first) == {}
    assert set(differs(desk)) == {
        *("work/back", "work/link", "work/passing", "work/removed-and-made-again")
    }


@pytest.mark.parametrize("seed", range(8))
def test_it_says_what_a_snapshot_taken_now_would_differ_in(desk: Desk, seed: int) -> None:
    """At random: files and directories change between three states, and trade places."""
    chance = random.Random(seed)  # noqa: S311 - a repeatable choice, no secret
    snapshots = []
    for _ in range(3):
        _change(desk, chance)
        snapshots.append(desk.backup(even_unchanged=True).snapshot)
    _change(desk, chance)
    before = {older: differs(desk, older) for older in snapshots}
    now = desk.backup(even_unchanged=True).snapshot
    assert now
    for older, found in before.items():
        assert older
        asked = Diff(older=older, newer=now)
        assert found == _paths(diff_snapshots(desk.context, desk.notify, asked)), older


def _change(desk: Desk, chance: random.Random) -> None:
    for name in ("a", "b", "c", "d/e", "d/f", "g"):
        path = desk.work / name
        what = chance.choice(["keep", "write", "write", "remove", "link"])
        if what == "keep" or (path.is_dir() and not path.is_symlink()):
            continue
        path.unlink(missing_ok=True)
        if what == "write":
            desk.write(f"work/{name}", chance.choice(["one", "two", "three"]))
        elif what == "link" and path.parent.is_dir():
            path.symlink_to(chance.choice(["x", "y"]))


@pytest.mark.parametrize("knows_base", [True, False])
def test_a_last_snapshot_that_cannot_be_read_is_not_passed_over(
    desk: Desk, *, knows_base: bool
) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/x", "saved")
    second = str(desk.backup().snapshot)
    desk.place.manifest(second).write_bytes(seal_manifest(b'{"schema": 99}'))
    if not knows_base:
        forget_base(desk.context.workspace)
    with pytest.raises(LatestUnreadable, match=second) as caught:
        differs(desk)
    assert "nothing is damaged: update scratchflow" in caught.value.shown_hint
    assert f"`scratchflow snapshots diff {first}`" in caught.value.shown_hint
    assert differs(desk, first) == {"work/x": "added"}
    desk.place.manifest(first).unlink()
    with pytest.raises(LatestUnreadable, match=second):
        differs(desk)


def test_nor_is_one_that_is_not_the_newest(desk: Desk) -> None:
    base = str(desk.backup().snapshot)
    desk.write("work/x", "saved")
    newest = str(desk.backup().snapshot)
    write_base(desk.context.workspace, desk.context.store, base)
    desk.place.manifest(base).write_bytes(seal_manifest(b'{"schema": 99}'))
    with pytest.raises(SnapshotUnreadable, match=f"{base}.*made by a newer scratchflow") as caught:
        differs(desk)
    assert "nothing is damaged" in caught.value.shown_hint
    assert differs(desk, newest) == {}


def test_a_workspace_from_an_older_one_is_compared_with_that(desk: Desk) -> None:
    base = str(desk.backup().snapshot)
    desk.write("work/x", "saved elsewhere")
    newest = str(desk.backup().snapshot)
    write_base(desk.context.workspace, desk.context.store, base)
    desk.place.manifest(newest).write_bytes(seal_manifest(b'{"schema": 99}'))
    found = diff_workspace(desk.context, desk.notify, DiffWorkspace())
    assert (found.older, _paths(found)) == (base, {"work/x": "added"})


def test_without_a_snapshot_or_a_workspace_it_says_what_to_do(desk: Desk, tmp_path: Path) -> None:
    desk.write("work/a", "a")
    with pytest.raises(SnapshotMissing) as caught:
        differs(desk)
    assert "scratchflow backup" in caught.value.shown_hint
    desk.backup()
    desk.work.rename(tmp_path / "elsewhere")
    with pytest.raises(WorkspaceMissing):
        differs(desk)
