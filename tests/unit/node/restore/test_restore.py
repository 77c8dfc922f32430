"""`restore`: everything, the difference, a part; never over something that no snapshot holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.errors.config import PathNameUnset
from scratchflow.model.errors.snapshots import PathMissing, SnapshotDamaged, SnapshotMissing
from scratchflow.model.errors.transfer import FileFailed, FileTaken
from scratchflow.model.requests import Diff, Restore, Show
from scratchflow.node.history.history import show_snapshot
from scratchflow.node.history.snapshot_diff import diff_snapshots
from scratchflow.node.restore.restore import requested_restore
from scratchflow.node.transfer.transfer import export_snapshot, import_snapshot
from scratchflow.workspace.notes import Restoring, begin_restoring, read_base, read_restoring
from tests.unit.conftest import Desk, make_desk, pack_plainly, unpack_plainly


def empty(desk: Desk) -> None:
    desk.work.rename(desk.scratch.parent / f"kept-{len(list(desk.scratch.parent.iterdir()))}")


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
    assert (result.would_save, result.would_commit) == (False, True)
    assert (desk.content(), desk.ids) == (before, ids)


def test_a_dry_run_says_which_snapshots_the_restore_would_take(desk: Desk) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/README", "changed")
    newest = str(desk.backup().snapshot)
    assert not desk.restore(newest, dry_run=True).would_commit
    desk.write("work/more")
    for options in ({}, {"paths": ["README"]}):
        assert desk.restore(first, dry_run=True, **options).would_save
    assert desk.restore(newest, dry_run=True).would_save
    done = desk.restore(first)
    assert done.safety_snapshot
    assert done.committed_as


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


@pytest.mark.parametrize("to", ["${PART}x", "$"])
def test_a_name_that_leads_to_no_whole_path_is_refused(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    desk.backup()
    monkeypatch.setenv("PART", "part/of-one")
    with pytest.raises(UsageInvalid, match="not a whole path"):
        requested_restore(desk.context, desk.notify, Restore(to=to))


def test_of_a_name_in_the_command_line_nobody_is_sent_to_the_settings(desk: Desk) -> None:
    with pytest.raises(PathNameUnset) as caught:
        requested_restore(desk.context, desk.notify, Restore(to="$NO_SUCH_NAME/x"))
    assert "config show" not in caught.value.shown_hint
