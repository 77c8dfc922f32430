"""A copy whose snapshot retention has removed is still ours: it is saved, and the newest comes."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec
import pytest

from scratchflow.archive.compare.plan import Plan
from scratchflow.model.errors.restore import RestoreIncomplete
from scratchflow.model.errors.store import NoSpace, TargetFull
from scratchflow.model.events import Warned
from scratchflow.model.snapshot import seal_manifest
from scratchflow.node.history.history import list_snapshots
from scratchflow.node.snapshot import plan, take
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.retention.prune import remove
from scratchflow.testing.store import make_lock
from scratchflow.workspace.lock import alone_with
from scratchflow.workspace.notes import Restoring, begin_restoring, end_restoring, write_base
from tests.unit.conftest import Desk

NEWER = "a day of work, longer than before"


def fallen_behind(desk: Desk) -> str:
    """The workspace of an old node: its base is gone from the store, work went on elsewhere."""
    base = str(desk.backup().snapshot)
    desk.write("work/README", NEWER)
    newest = str(desk.backup().snapshot)
    elsewhere = msgspec.structs.replace(desk.context.workspace, scratch=desk.scratch.parent / "old")
    old = Desk(msgspec.structs.replace(desk.context, workspace=elsewhere))
    old.restore(base)
    with make_lock(desk.place).acquired() as lock:
        remove(lock, [one for one in desk.ids if one != newest])
    desk.context = old.context
    return newest


def test_the_newest_snapshot_comes_and_the_copy_is_saved(desk: Desk) -> None:
    newest = fallen_behind(desk)
    desk.write("work/notes", "only here")
    done = desk.restore("latest")
    assert done.snapshot == newest
    assert (desk.work / "README").read_text() == NEWER
    assert done.safety_snapshot is not None
    desk.restore(done.safety_snapshot, to=desk.scratch / "again")
    assert (desk.scratch / "again/work/notes").read_text() == "only here"


def test_a_backup_that_does_not_continue_the_newest_snapshot_says_so(desk: Desk) -> None:
    desk.backup()
    scratch = desk.scratch.parent / "elsewhere"
    workspace = msgspec.structs.replace(desk.context.workspace, scratch=scratch)
    elsewhere = Desk(msgspec.structs.replace(desk.context, workspace=workspace))
    elsewhere.restore()
    elsewhere.write("work/README", NEWER)
    newest = str(elsewhere.backup().snapshot)
    assert elsewhere.warnings == []
    desk.write("work/notes", "only here")
    desk.backup()
    assert desk.warnings == ["workspace.behind"]
    said = next(event.message for event in desk.events if isinstance(event, Warned))
    assert f"not {newest}, which was the newest and is a fork now" in said
    desk.write("work/notes", "and more")
    desk.backup()
    assert desk.warnings == ["workspace.behind"]


@pytest.mark.parametrize("is_base", [True, False])
def test_what_a_newest_snapshot_that_cannot_be_read_came_from_is_no_fork(
    desk: Desk, *, is_base: bool
) -> None:
    older = str(desk.backup().snapshot)
    desk.write("work/README", NEWER)
    newest = str(desk.backup().snapshot)
    desk.place.manifest(newest).write_bytes(seal_manifest(b'{"schema": 99}'))
    if not is_base:
        write_base(desk.context.workspace, desk.context.store, older)
    desk.write("work/notes", "more")
    taken = desk.backup()
    assert taken.parent == (newest if is_base else older)
    said = [event.message for event in desk.events if isinstance(event, Warned)]
    assert desk.warnings == ([] if is_base else ["workspace.behind"])
    assert not any("fork" in one for one in said)
    if not is_base:
        assert f"continues snapshot {older}, not {newest}" in said[0]
        assert "newer scratchflow" in said[0]
        assert (
            f"update scratchflow on the machine where you type it, then `scratchflow restore {newest}`"
            in said[0]
        )


def test_a_line_goes_on_from_what_is_left_when_its_newest_snapshot_was_removed(desk: Desk) -> None:
    for text in ("first", "second", "third"):
        desk.write("work/README", text)
        desk.backup()
    with make_lock(desk.place).acquired() as lock:
        remove(lock, desk.ids[1:])
    for text in ("fourth", "fifth"):
        desk.write("work/README", text)
        assert desk.backup().kind == "incremental"
    assert desk.warnings == []
    listed = list_snapshots(desk.context, desk.notify).snapshots
    assert [one.id for one in listed] == desk.ids
    assert not any(one.fork for one in listed)


def test_a_full_snapshot_that_does_not_fit_is_put_off(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.backup()
    desk.write("work/more", "what changed")
    monkeypatch.setattr(plan, "_is_due_for_full", lambda *_: True)
    write = take._write

    def full_disk(planned: Plan, *rest: object) -> object:
        if planned.full:
            raise NoSpace(path=desk.context.store, reason="No space left on device")
        return write(planned, *rest)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(take, "_write", full_disk)
    assert desk.backup().kind == "incremental"
    assert "backup.full_put_off" in desk.warnings
    desk.write("work/more", "again")
    with pytest.raises(NoSpace):
        desk.backup(full=True)
    assert len(read_catalogue(desk.place).snapshots) == 2


def test_a_restore_that_runs_is_waited_for_and_not_called_unfinished(desk: Desk) -> None:
    snapshot = str(desk.backup().snapshot)
    desk.write("work/more")
    workspace = desk.context.workspace
    with alone_with(workspace, wait_s=0):
        begin_restoring(workspace, Restoring(snapshot=snapshot, mode="delta"))
        waiting = threading.Event()
        taken: list[str] = []

        def back_up() -> None:
            context = msgspec.structs.replace(desk.context)
            notify = desk.notify
            waiting.set()
            taken.append(str(snapshotting_backup(context, notify)))

        thread = threading.Thread(target=back_up)
        thread.start()
        waiting.wait()
        end_restoring(workspace)
    thread.join()
    assert taken == [desk.ids[-1]]
    begin_restoring(workspace, Restoring(snapshot=snapshot, mode="delta"))
    with pytest.raises(RestoreIncomplete):
        desk.backup()


def snapshotting_backup(context: object, notify: object) -> str | None:
    from scratchflow.node.backup import backup

    return backup(context, notify, SnapshotOptions()).snapshot  # type: ignore[arg-type]  # as they came


def test_a_workspace_that_a_killed_restore_left_away_is_not_called_missing(desk: Desk) -> None:
    snapshot = str(desk.backup().snapshot)
    begin_restoring(desk.context.workspace, Restoring(snapshot=snapshot, mode="full"))
    desk.work.rename(desk.scratch / "work.before-it")
    with pytest.raises(RestoreIncomplete):
        desk.backup()


def test_no_room_on_scratch_is_told_as_that(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/README", "changed")
    desk.backup()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", str(Path("/scratch")))

    with monkeypatch.context() as patched:
        patched.setattr("scratchflow.node.base_note.begin_restoring", full)
        with pytest.raises(TargetFull):
            desk.restore(first)
    monkeypatch.setattr("scratchflow.archive.restore.placer.Placer.small_file", full)
    with pytest.raises(TargetFull) as caught:
        desk.restore(first)
    assert caught.value.exit_code == NoSpace.exit_code
    assert "snapshots prune" not in caught.value.shown_hint
    assert "`df -h`" in caught.value.shown_hint
