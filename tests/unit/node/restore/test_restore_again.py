"""A restore of the newest snapshot that failed is told with that one's id: what was here is the newest by then."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from scratchflow.archive.restore import apply_delta
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.snapshots import SnapshotDamaged
from scratchflow.model.errors.store import TargetFull
from scratchflow.workspace.notes import read_base
from tests.unit.conftest import Desk, make_desk


@pytest.mark.parametrize("named", [False, True])
def test_the_command_that_brings_it_is_named(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    desk.write("work/file", "x")
    wanted = str(desk.backup().snapshot)
    (desk.work / "file").unlink()
    desk.write("work/later", "x")
    with monkeypatch.context() as full:
        full.setattr(apply_delta._Application, "run", _no_room)
        with pytest.raises(TargetFull) as failed:
            desk.restore(*([wanted] if named else []))
    command = f"`scratchflow restore {wanted}`"
    assert (command in failed.value.shown_hint) is not named
    desk.restore(wanted)
    assert (desk.work / "file").read_text() == "x"


def test_one_that_would_go_on_by_itself_is_not_named(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write("work/file", "x")
    desk.backup()
    (desk.work / "file").unlink()
    desk.write("work/later", "x")

    def begun(applying: apply_delta._Application, *_: object) -> None:
        applying.displacing.before_change()
        _no_room()

    with monkeypatch.context() as full:
        full.setattr(apply_delta._Application, "run", begun)
        with pytest.raises(ScratchflowError) as failed:
            desk.restore()
    assert "`latest` is by now" not in failed.value.shown_hint
    desk.restore()
    assert (desk.work / "file").read_text() == "x"


def test_one_that_is_damaged_is_not_named(desk: Desk) -> None:
    older = str(desk.backup().snapshot)
    desk.write("work/file", os.urandom(1 << 20))
    wanted = str(desk.backup().snapshot)
    archive = desk.place.archive(wanted)
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 4
    archive.write_bytes(content)
    desk.write("work/file", "unsaved")
    with pytest.raises(SnapshotDamaged) as failed:
        desk.restore()
    assert f"`scratchflow restore {older}`" in failed.value.shown_hint
    assert f"`scratchflow restore {wanted}`" not in failed.value.shown_hint


def _no_room(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_to_restore_the_same_once_more_adds_no_snapshot(desk: Desk) -> None:
    older = str(desk.backup().snapshot)
    desk.write("work/file", "x")
    desk.backup()
    newest = desk.restore(older).committed_as
    ids = desk.ids
    for _ in range(2):
        again = desk.restore(older)
        assert (again.mode, again.committed_as, desk.ids) == ("nothing", None, ids)
    assert read_base(desk.context.workspace, desk.context.store) == newest
    assert desk.backup().kind == "unchanged"
    desk.write("work/file", "y")
    assert desk.backup().parent == newest


def test_what_was_saved_with_it_since_is_a_step_of_its_own(desk: Desk) -> None:
    older = str(desk.backup().snapshot)
    desk.write("work/file", "x")
    desk.backup()
    desk.restore(older)
    desk.write("work/file", "y")
    last = desk.backup().snapshot
    back = desk.restore(older).committed_as
    assert back is not None
    assert desk.ids[-2:] == [last, back]


def test_with_directories_that_the_snapshot_lacks_the_same_once_more_adds_none_either(
    tmp_path: Path,
) -> None:
    """`backup.also` may name what was made after the snapshot: it stays, and is in what the first restore saved."""
    desk = make_desk(tmp_path, '[profiles.test.backup]\nalso = ["env"]\n')
    desk.write("work/file", "old")
    older = str(desk.backup().snapshot)
    desk.write("work/file", "new")
    desk.write("env/tool", "x")
    desk.backup()
    newest = desk.restore(older).committed_as
    assert newest
    ids = desk.ids
    for _ in range(2):
        foretold = desk.restore(older, dry_run=True)
        assert (foretold.mode, foretold.would_save, foretold.would_commit) == (
            ("nothing", False, False)
        )
        again = desk.restore(older)
        assert (again.mode, again.committed_as, desk.ids) == ("nothing", None, ids)
    assert read_base(desk.context.workspace, desk.context.store) == newest
    assert desk.backup().kind == "unchanged"
    desk.write("env/tool", "changed")
    assert desk.restore(older, dry_run=True).would_save
    assert desk.restore(older).committed_as
    desk.write("work/file", "newer")
    assert desk.restore(older, dry_run=True).would_commit


def test_a_dry_run_of_the_same_once_more_foretells_no_snapshot(desk: Desk) -> None:
    desk.write("work/file", "old")
    older = str(desk.backup().snapshot)
    desk.write("work/file", "new")
    desk.backup()
    assert desk.restore(older, dry_run=True).would_commit
    desk.restore(older)
    assert not desk.restore(older, dry_run=True).would_commit
    (desk.work / "file").write_text("newer")
    assert desk.restore(older, dry_run=True).would_commit
