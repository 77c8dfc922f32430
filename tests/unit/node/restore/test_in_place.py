"""Restores into the workspace: what is there is saved first, and only what differs is written."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from shutil import copytree

import msgspec
import pytest

from scratchflow.archive.scan.scan import ScannedTree
from scratchflow.cli.restore_call import shown_restored
from scratchflow.model.errors.restore import FileNeedsRoom, TargetNotEmpty, WorkspaceOfOther
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.workspace import NoWorkspaceForPart
from scratchflow.model.events import Log
from scratchflow.model.requests import Send, Settle, Show
from scratchflow.model.snapshot import Purpose
from scratchflow.node.history.history import list_snapshots, show_snapshot
from scratchflow.node.history.verification import verify_snapshots
from scratchflow.node.settle import settle
from scratchflow.node.transfer.send import send_snapshot
from scratchflow.node.transfer.transfer import export_snapshot
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.retention.marks import read_marks
from scratchflow.workspace.notes import read_restoring
from tests.unit.conftest import Desk, make_desk


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


def test_a_file_takes_the_place_of_saved_work_only_when_asked_to(
    desk: Desk, tmp_path: Path
) -> None:
    """Refused without a word on snapshots: what is there may well be in one."""
    file = tmp_path / "x.tar.lz4"
    desk.backup()
    export_snapshot(desk.context, desk.notify, "latest", file, dry_run=False)
    before = desk.content()
    with pytest.raises(FileNeedsRoom) as refused:
        desk.restore(source=file)
    assert "snapshot" not in f"{refused.value} {refused.value.shown_hint}"
    assert desk.content() == before
    (aside,) = desk.restore(source=file, replace=True).moved_aside
    assert desk.content(Path(aside)) == desk.content() == before


def _of_two_profiles(desk: Desk, tmp_path: Path) -> tuple[Desk, Desk]:
    """Profiles `login` (job 1) and `second` (job 2, with another store) with one workspace on one node."""
    desk.backup()
    settings = msgspec.structs.replace(desk.context.settings, name="login")
    login = msgspec.structs.replace(desk.context, settings=settings, node="node-1", job_id=1)
    theirs = Desk(login)
    theirs.write("work/since", "in no snapshot of second's")
    theirs.backup()
    settings = msgspec.structs.replace(desk.context.settings, name="second")
    second = msgspec.structs.replace(login, settings=settings, job_id=2, store=tmp_path / "second")
    copytree(desk.context.store, tmp_path / "second")
    return theirs, Desk(second)


@pytest.mark.parametrize("replace", [False, True])
def test_the_workspace_in_which_another_profile_works_is_not_moved_aside(
    desk: Desk, tmp_path: Path, replace: bool
) -> None:
    theirs, ours = _of_two_profiles(desk, tmp_path)
    theirs.write("work/live", "saved nowhere")
    before = theirs.content()
    with pytest.raises(WorkspaceOfOther, match=r"of profile `login`.*\(job 1\)") as refused:
        ours.restore(replace=replace)
    assert "`scratchflow restore --replace --force`" in refused.value.shown_hint
    assert theirs.content() == before
    (aside,) = ours.restore(replace=True, force=True).moved_aside
    assert theirs.content(Path(aside)) == before


def test_the_scratch_that_the_refusal_names_gets_the_workspace_with_its_snapshots(
    desk: Desk, tmp_path: Path
) -> None:
    theirs, ours = _of_two_profiles(desk, tmp_path)
    theirs.write("second/of somebody", "the name is taken")
    before = theirs.content()
    with pytest.raises(WorkspaceOfOther) as refused:
        settle(ours.context, ours.notify, Settle())
    named = re.search(r"`scratchflow config set scratch (\S+)`", refused.value.shown_hint)
    assert named is not None
    profile = msgspec.structs.replace(ours.context.profile, scratch=named[1])
    settings = msgspec.structs.replace(ours.context.settings, profile=profile)
    workspace = msgspec.structs.replace(ours.context.workspace, scratch=Path(named[1]))
    ours.context = msgspec.structs.replace(ours.context, settings=settings, workspace=workspace)
    settled = settle(ours.context, ours.notify, Settle())
    assert (settled.action, settled.path) == ("restored", str(desk.scratch / "second2/work"))
    assert ours.content() == before
    assert settle(ours.context, ours.notify, Settle()).action == "nothing"
    assert theirs.content() == before
    ours.write("work/more")
    assert ours.backup().changed_files == 1


def test_what_another_profile_left_in_a_job_that_is_over_is_moved_aside(
    desk: Desk, tmp_path: Path
) -> None:
    _, ours = _of_two_profiles(desk, tmp_path)
    ours.context = msgspec.structs.replace(ours.context, is_job_over=lambda number: number == 1)
    with pytest.raises(TargetNotEmpty) as refused:
        ours.restore()
    assert "`scratchflow restore --replace`" in refused.value.shown_hint
    assert ours.restore(replace=True).moved_aside


def _made(path: Path) -> Path:
    path.mkdir()
    return path


def test_one_path_comes_back_into_the_workspace_and_the_rest_stays(desk: Desk) -> None:
    desk.backup()
    (desk.work / "src/main.py").unlink()
    desk.write("work/README", "newer")
    restored = desk.restore(paths=("work/src",))
    assert restored.written_files == 1
    assert (desk.work / "src/main.py").read_text() == "print()"
    assert (desk.work / "README").read_text() == "newer"
    assert restored.safety_snapshot


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_part_that_is_there_already_is_neither_written_nor_saved_first(
    desk: Desk, *, dry_run: bool
) -> None:
    (desk.work / "link").symlink_to("README")
    taken = desk.backup()
    desk.write("work/unsaved", "new")
    before = os.lstat(desk.work / "src/main.py").st_ino
    done = desk.restore(paths=("src", "link"), dry_run=dry_run)
    assert (done.mode, done.written_files, done.safety_snapshot) == ("nothing", 0, None)
    assert os.lstat(desk.work / "src/main.py").st_ino == before
    assert desk.ids == [taken.snapshot]
    (said,) = shown_restored(done)
    assert said.startswith("nothing to write: ")


def _same_size_and_time(desk: Desk) -> None:
    found = os.stat(desk.work / "src/main.py")
    desk.write("work/src/main.py", "PRINT()")
    os.utime(desk.work / "src/main.py", ns=(found.st_atime_ns, found.st_mtime_ns))


def _another_time(desk: Desk) -> None:
    os.utime(desk.work / "src/main.py", (1, 1))


def _another_mode(desk: Desk) -> None:
    (desk.work / "src/main.py").chmod(0o700)


def _gone(desk: Desk) -> None:
    (desk.work / "src/main.py").unlink()


def _linked(desk: Desk) -> None:
    os.link(desk.work / "src/main.py", desk.work / "other")


@pytest.mark.parametrize(
    "change", [_same_size_and_time, _another_time, _another_mode, _gone, _linked]
)
def test_a_part_that_differs_in_anything_is_written(
    desk: Desk, change: Callable[[Desk], None]
) -> None:
    desk.backup()
    kept = os.lstat(desk.work / "src/main.py")
    change(desk)
    done = desk.restore(paths=("src",))
    assert (done.mode, done.written_files) == ("delta", 1)
    found = os.lstat(desk.work / "src/main.py")
    assert (found.st_mode, found.st_mtime_ns, found.st_nlink) == (kept.st_mode, kept.st_mtime_ns, 1)
    assert (desk.work / "src/main.py").read_text() == "print()"


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


@pytest.mark.parametrize("dry_run", [True, False])
def test_no_part_is_taken_for_a_workspace_that_is_not_there(desk: Desk, *, dry_run: bool) -> None:
    desk.backup()
    empty(desk)
    ids = desk.ids
    with pytest.raises(NoWorkspaceForPart) as caught:
        desk.restore(paths=("README",), dry_run=dry_run)
    assert "`scratchflow restore` brings all of it" in caught.value.shown_hint
    assert (desk.work.exists(), desk.ids) == (False, ids)


def test_two_paths_come_back_one_after_the_other_from_the_same_snapshot(desk: Desk) -> None:
    desk.write("work/a", "good a")
    desk.write("work/b", "good b")
    good = desk.backup().snapshot
    desk.write("work/a", "bad a")
    desk.write("work/b", "bad b")
    first = desk.restore(paths=("a",))
    foretold = desk.restore(paths=("b",), dry_run=True)
    second = desk.restore(paths=("b",))
    assert {first.snapshot, foretold.snapshot, second.snapshot} == {good}
    assert (desk.content()["a"], desk.content()["b"]) == (b"good a", b"good b")
    said = [event.message for event in desk.events if isinstance(event, Log)]
    assert any(f"{good} is used: the newest, {first.safety_snapshot}," in one for one in said)
    desk.restore(str(first.safety_snapshot), paths=("b",))
    assert desk.content()["b"] == b"bad b"
    last = desk.backup().snapshot
    assert desk.restore(paths=("b",)).snapshot == last


def test_a_part_that_goes_elsewhere_comes_from_the_same_snapshot(
    desk: Desk, tmp_path: Path
) -> None:
    desk.write("work/a", "good")
    good = desk.backup().snapshot
    desk.write("work/a", "bad")
    desk.write("work/b", "bad")
    desk.restore(paths=("a",))
    assert desk.restore(paths=("a",), to=tmp_path / "elsewhere").snapshot == good
    sent = send_snapshot(desk.context, desk.notify, Send(paths=("a",)))
    assert sent.snapshot == good


@pytest.mark.parametrize("purpose", ["asked", "final"])
def test_what_a_person_saves_is_no_safety_snapshot_any_more(desk: Desk, purpose: Purpose) -> None:
    desk.write("work/a", "first")
    desk.write("work/b", "b")
    desk.backup()
    desk.write("work/a", "hours of work")
    safety = desk.restore(paths=("b",)).safety_snapshot
    taken = desk.backup(purpose=purpose)
    assert taken.snapshot not in {None, safety}
    assert desk.backup(purpose=purpose).kind == "unchanged"
    desk.write("work/a", "broken")
    assert desk.restore(paths=("a",)).snapshot == taken.snapshot
    assert desk.content()["a"] == b"hours of work"


def test_all_of_it_comes_from_the_newest_and_it_is_said_what_that_is(desk: Desk) -> None:
    desk.write("work/a", "good")
    good = desk.backup().snapshot
    desk.write("work/a", "bad")
    safety = desk.restore(paths=("a",)).safety_snapshot
    desk.events.clear()
    assert desk.restore(dry_run=True).snapshot == safety
    said = [event.message for event in desk.events if isinstance(event, Log)]
    assert any(f"{safety}, was saved before a restore" in one and str(good) in one for one in said)


def test_a_damaged_one_is_not_named_as_the_one_before_it(desk: Desk) -> None:
    first = desk.backup().snapshot
    desk.write("work/a", "good")
    damaged = desk.backup().snapshot or ""
    desk.write("work/a", "bad")
    desk.restore(paths=("a",))
    for fine, broken in ((damaged, ""), (first, damaged), (None, first or "")):
        if broken:
            desk.place.archive(broken).unlink()
        desk.events.clear()
        with suppress(SnapshotDamaged):  # the newest one may need what is gone
            desk.restore(dry_run=True)
        said = [event.message for event in desk.events if isinstance(event, Log)]
        assert any("was saved before a restore" in one for one in said)
        assert any(f"`scratchflow restore {fine}`" in one for one in said) == (fine is not None)
        assert not broken or not any(broken in one for one in said)


def test_before_a_part_is_restored_into_what_is_left_the_whole_one_is_kept(desk: Desk) -> None:
    """The node may be gone before the next backup asks: then the smaller one is the newest."""
    for number in range(60):
        desk.write(f"work/{number}", "x")
    whole = desk.backup().snapshot or ""
    for number in range(1, 60):
        (desk.work / f"{number}").unlink()
    desk.write("work/only", "what is left")
    safety = desk.restore(paths=("1",)).safety_snapshot
    marks = read_marks(desk.place)
    assert {one: mark.why for one, mark in marks.items()} == {whole: "shrink"}
    assert read_catalogue(desk.place).by_id(str(safety)).shrunk
    desk.write("work/1", "2")
    desk.restore(paths=("2",))  # nor does the next one forget it
    assert set(read_marks(desk.place)) == {whole}


def test_two_nodes_that_both_changed_are_both_kept(desk: Desk, tmp_path: Path) -> None:
    first = desk.backup()
    other = make_desk(_made(tmp_path / "other"))
    other.work.rmdir()
    other.context = msgspec.structs.replace(other.context, store=desk.context.store, node="node-2")
    other.restore()
    desk.write("work/here", "1")
    other.write("work/there", "2")
    mine, theirs = desk.backup(), other.backup()
    rows = list_snapshots(desk.context, desk.notify).snapshots
    assert {row.id: row.parent for row in rows[1:]} == {
        mine.snapshot: first.snapshot,
        theirs.snapshot: first.snapshot,
    }
