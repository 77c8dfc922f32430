"""`restore`: everything, the difference, a part; never over something that no snapshot holds."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.archive.scan.scan import Scan, ScannedTree
from scratchflow.model.errors import (
    FileFailed,
    FileTaken,
    PathMissing,
    SnapshotDamaged,
    SnapshotMissing,
    TargetNotEmpty,
)
from scratchflow.model.requests import Diff, Show
from scratchflow.node.history import (
    diff_snapshots,
    list_snapshots,
    show_snapshot,
    verify_snapshots,
)
from scratchflow.node.restore import source as restore_source
from scratchflow.node.restore import steps as restore_steps
from scratchflow.node.snapshot import plan as snapshot_plan
from scratchflow.node.transfer.transfer import export_snapshot, import_snapshot
from scratchflow.workspace.notes import Restoring, begin_restoring, read_base, read_restoring
from tests.unit.conftest import Desk, make_desk, pack_plainly, unpack_plainly


def empty(desk: Desk) -> None:
    desk.work.rename(desk.scratch.parent / f"kept-{len(list(desk.scratch.parent.iterdir()))}")


def test_into_an_empty_place_everything_comes_back(desk: Desk) -> None:
    desk.backup()
    before = desk.content()
    empty(desk)
    restored = desk.restore()
    assert (restored.mode, restored.written_files) == ("full", 3)
    assert desk.content() == before
    assert read_restoring(desk.context.workspace) is None


def test_the_first_backup_after_a_restore_finds_nothing_to_do(desk: Desk) -> None:
    desk.backup()
    empty(desk)
    desk.restore()
    assert desk.backup().kind == "unchanged"


def test_going_back_writes_only_the_difference_and_is_what_latest_brings(desk: Desk) -> None:
    first = desk.backup()
    before = desk.content()
    desk.write("work/README", "changed")
    desk.write("work/new", "new")
    desk.backup()
    restored = desk.restore(str(first.snapshot))
    assert (restored.mode, restored.written_files) == ("delta", 1)
    assert restored.safety_snapshot is None
    assert desk.content() == before
    assert desk.ids[-1] == restored.committed_as
    empty(desk)
    desk.restore()
    assert desk.content() == before


def test_going_back_looks_at_the_workspace_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = desk.backup()
    desk.write("work/README", "changed")
    desk.backup()
    scans: list[object] = []
    begin = ScannedTree.__init__

    def counted(tree: ScannedTree, scratch: Path) -> None:
        scans.append(tree)
        begin(tree, scratch)

    monkeypatch.setattr(ScannedTree, "__init__", counted)
    desk.restore(str(first.snapshot))
    assert len(scans) == 1


def test_after_going_back_a_backup_finds_nothing_to_do(desk: Desk) -> None:
    first = desk.backup()
    desk.write("work/README", "changed")
    (desk.work / "src/main.py").unlink()
    desk.write("work/a/b/new", "new")
    os.link(desk.work / "README", desk.work / "linked")
    second = desk.backup()
    for snapshot in (first, second):
        restored = desk.restore(str(snapshot.snapshot))
        again = desk.backup()
        assert (again.kind, again.snapshot) == ("unchanged", restored.committed_as)
        assert again.files == snapshot.files
    assert verify_snapshots(desk.context, desk.notify, []).bad == []


def test_what_an_older_snapshot_had_not_yet_saved_stays_in_the_newest(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, '[profiles.test.backup]\nalso = ["env"]\n')
    desk.write("work/a", "1")
    first = desk.backup()
    desk.write("work/a", "two")
    desk.write("env/e", "later")
    desk.backup()
    restored = desk.restore(str(first.snapshot))
    assert (desk.work / "a").read_text() == "1"
    shown = show_snapshot(
        desk.context, desk.notify, Show(snapshot=str(restored.committed_as), path="env")
    )
    assert [entry.path for entry in shown.entries] == ["env/e"]


def test_changes_that_no_snapshot_holds_are_saved_first(desk: Desk, tmp_path: Path) -> None:
    first = desk.backup()
    desk.write("work/unsaved", "precious")
    restored = desk.restore(str(first.snapshot))
    assert not (desk.work / "unsaved").exists()
    desk.restore(str(restored.safety_snapshot), to=tmp_path / "safe")
    assert (tmp_path / "safe/work/unsaved").read_text() == "precious"


def test_the_safety_snapshot_never_costs_the_one_that_is_wanted(tmp_path: Path) -> None:
    rules = "keep_last = 3\nkeep_hourly = 0\nkeep_daily = 0\nkeep_weekly = 0\n"
    desk = make_desk(tmp_path, f"[profiles.test.backup]\n{rules}")
    for number in range(3):
        desk.write("work/file", str(number))
        desk.backup(full=True)
    desk.write("work/file", "unsaved")
    desk.restore(desk.ids[0])
    assert (desk.work / "file").read_text() == "0"


def test_a_workspace_that_is_there_already_is_left_alone(desk: Desk) -> None:
    taken = desk.backup()
    restored = desk.restore()
    assert (restored.mode, restored.written_files) == ("nothing", 0)
    assert desk.ids == [taken.snapshot]


def test_an_unknown_workspace_is_refused_or_moved_aside(desk: Desk, tmp_path: Path) -> None:
    desk.backup()
    before = desk.content()
    other = make_desk(_made(tmp_path / "other"))
    other.write("work/mine", "mine")
    other.context = msgspec.structs.replace(other.context, store=desk.context.store)
    with pytest.raises(TargetNotEmpty):
        other.restore()
    assert other.content() == {"mine": b"mine"}
    restored = other.restore(replace=True)
    (aside,) = restored.moved_aside
    assert other.content(Path(aside)) == {"mine": b"mine"}
    assert other.content() == before


def _made(path: Path) -> Path:
    path.mkdir()
    return path


def test_a_restore_that_died_after_its_last_step_counts_as_done(desk: Desk) -> None:
    taken = desk.backup()
    before = desk.content()
    begin_restoring(desk.context.workspace, Restoring(snapshot=str(taken.snapshot), mode="full"))
    restored = desk.restore()
    assert (restored.mode, restored.moved_aside) == ("nothing", [])
    assert desk.content() == before
    assert read_restoring(desk.context.workspace) is None


def test_one_path_comes_back_into_the_workspace_and_the_rest_stays(desk: Desk) -> None:
    desk.backup()
    (desk.work / "src/main.py").unlink()
    desk.write("work/README", "newer")
    restored = desk.restore(paths=("work/src",))
    assert restored.written_files == 1
    assert (desk.work / "src/main.py").read_text() == "print()"
    assert (desk.work / "README").read_text() == "newer"
    assert restored.safety_snapshot


def test_a_glob_goes_to_another_place(desk: Desk, tmp_path: Path) -> None:
    desk.backup()
    desk.restore(paths=("work/*.py",), to=tmp_path / "part")
    assert set(desk.content(tmp_path / "part")) == {"src/main.py"}


def test_a_path_that_is_not_in_the_snapshot_says_so(desk: Desk) -> None:
    desk.backup()
    with pytest.raises(PathMissing, match="work/nosuch"):
        desk.restore(paths=("work/nosuch",))


def test_elsewhere_must_be_empty(desk: Desk, tmp_path: Path) -> None:
    desk.backup()
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").write_text("x")
    with pytest.raises(FileTaken):
        desk.restore(to=tmp_path / "full")
    with pytest.raises(FileTaken):
        desk.restore(to=tmp_path / "full", dry_run=True)


def test_an_empty_store_offers_create(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    with pytest.raises(SnapshotMissing) as caught:
        desk.restore()
    assert "scratchflow create" in caught.value.shown_hint
    assert caught.value.exit_code == 30


def test_a_dry_run_changes_nothing(desk: Desk) -> None:
    first = desk.backup()
    desk.write("work/README", "changed")
    desk.backup()
    before, ids = desk.content(), desk.ids
    result = desk.restore(str(first.snapshot), dry_run=True)
    assert (result.mode, result.written_files, result.dry_run) == ("delta", 1, True)
    assert (desk.content(), desk.ids) == (before, ids)


def test_a_damaged_snapshot_leaves_the_workspace_as_it_was(desk: Desk) -> None:
    taken = desk.backup()
    archive = desk.place.archive(str(taken.snapshot))
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 4  # in the big file
    archive.write_bytes(content)
    empty(desk)
    with pytest.raises(SnapshotDamaged):
        desk.restore()
    assert not desk.work.exists()
    assert [path.name for path in desk.scratch.iterdir()] == [".scratchflow"]
    bad = verify_snapshots(desk.context, desk.notify, [])
    assert [one.id for one in bad.bad] == [taken.snapshot]
    assert bad.exit_code() == 31


def test_two_nodes_that_both_changed_are_both_kept(desk: Desk, tmp_path: Path) -> None:
    first = desk.backup()
    other = make_desk(_made(tmp_path / "other"))
    other.work.rmdir()
    other.context = msgspec.structs.replace(other.context, store=desk.context.store)
    other.restore()
    desk.write("work/here", "1")
    other.write("work/there", "2")
    mine, theirs = desk.backup(), other.backup()
    rows = list_snapshots(desk.context, desk.notify).snapshots
    assert {row.id: row.parent for row in rows[1:]} == {
        mine.snapshot: first.snapshot,
        theirs.snapshot: first.snapshot,
    }


def test_an_exported_incremental_is_one_plain_full_archive(desk: Desk, tmp_path: Path) -> None:
    desk.backup()
    desk.write("work/README", "changed")
    assert desk.backup().kind == "incremental"
    file = tmp_path / "out.tar.lz4"
    export_snapshot(desk.context, desk.notify, "latest", file, dry_run=False)
    target = _made(tmp_path / "plain")
    unpack_plainly(file, target)
    assert desk.content(target / "work") == desk.content()
    with pytest.raises(FileTaken):
        export_snapshot(desk.context, desk.notify, "latest", file, dry_run=False)


@pytest.mark.parametrize("names", ["work", "."], ids=["from scratch down", "from inside"])
def test_any_tar_lz4_can_be_imported_and_restored_from(
    desk: Desk, tmp_path: Path, names: str
) -> None:
    top = desk.scratch if names == "work" else desk.work
    file = tmp_path / "made-by-tar.tar.lz4"
    pack_plainly(top, names, file)
    before = desk.content()
    imported = import_snapshot(desk.context, desk.notify, file, dry_run=False)
    assert imported.files == 3
    desk.restore(str(imported.snapshot), to=tmp_path / "a")
    assert desk.content(tmp_path / "a/work") == before
    desk.restore(source=file, to=tmp_path / "b")
    assert desk.content(tmp_path / "b/work") == before
    empty(desk)
    desk.restore(source=file)
    assert desk.content() == before
    assert read_base(desk.context.workspace, desk.context.store) is None


def test_a_file_that_cannot_be_read_is_a_clear_error(desk: Desk, tmp_path: Path) -> None:
    with pytest.raises(FileFailed):
        import_snapshot(desk.context, desk.notify, tmp_path / "nosuch", dry_run=False)
    (tmp_path / "junk").write_bytes(os.urandom(5000))
    with pytest.raises(SnapshotDamaged):
        import_snapshot(desk.context, desk.notify, tmp_path / "junk", dry_run=False)
    assert not list(desk.context.store.rglob("*.tar.lz4"))


def test_show_and_diff_tell_what_is_inside(desk: Desk) -> None:
    first = desk.backup()
    desk.write("work/README", "changed")
    desk.write("work/new\nline", "x")
    (desk.work / "src/main.py").unlink()
    second = desk.backup()
    shown = show_snapshot(desk.context, desk.notify, Show(path="work"))
    assert [entry.path for entry in shown.entries] == [
        "work/README",
        "work/data",
        "work/new\nline",
        "work/src",
    ]
    diff = diff_snapshots(
        desk.context, desk.notify, Diff(older=str(first.snapshot), newer=str(second.snapshot))
    )
    assert {(change.action, change.path) for change in diff.paths} == {
        ("changed", "work/README"),
        ("added", "work/new\nline"),
        ("removed", "work/src/main.py"),
    }


@pytest.mark.parametrize(("patience_s", "scans"), [(60.0, 1), (-1.0, 2)])
def test_a_scan_from_before_a_long_wait_is_not_used(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, patience_s: float, scans: int
) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/README", "changed")
    desk.backup()
    finished: list[Scan] = []
    finish = Scan.finish

    def counted(self: Scan, *given: Any) -> ScannedTree:
        finished.append(self)
        return finish(self, *given)

    begun: list[Scan] = []
    begin = snapshot_plan.begin_scan

    def noted(*given: Any) -> Scan:
        begun.append(begin(*given))
        return begun[-1]

    for module in (restore_source, snapshot_plan):
        monkeypatch.setattr(module, "begin_scan", noted)
    monkeypatch.setattr(Scan, "finish", counted)
    monkeypatch.setattr(restore_steps, "_STALE_AFTER_S", patience_s)
    assert desk.restore(first).mode == "delta"
    assert (len(begun), finished) == (scans, begun[-1:])
