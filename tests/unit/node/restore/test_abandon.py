"""A restore that fails or is given up leaves a workspace that can be backed up again."""

from __future__ import annotations

import os
from pathlib import Path
from shutil import rmtree

import msgspec
import pytest

from scratchflow.archive.restore import apply_delta as deltas
from scratchflow.archive.restore.displace import Displacing
from scratchflow.cli.restore_call import shown_restored
from scratchflow.config.settings import Asked, load_settings
from scratchflow.model.ages import shown_id
from scratchflow.model.errors.restore import NothingUnfinished, RestoreIncomplete
from scratchflow.model.requests import Settle
from scratchflow.node.backup import backup
from scratchflow.node.context import node_context
from scratchflow.node.restore.restore import restore
from scratchflow.node.restore.source import RestoreOptions
from scratchflow.node.settle import settle
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.nodes import read_nodes
from scratchflow.store.retention import readers
from scratchflow.store.retention.prune import prune
from scratchflow.store.retention.sweep import sweep
from scratchflow.workspace.notes import (
    Restoring,
    begin_restoring,
    forget_base,
    read_base,
    read_restoring,
)
from tests.unit.conftest import Desk, make_desk


class PowerCut(BaseException):
    """The process ends here."""


def interrupt(desk: Desk, snapshot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restore that dies right after its first change was announced."""

    def die(*_: object, displacing: Displacing, **__: object) -> None:
        displacing.before_change()
        raise PowerCut

    with monkeypatch.context() as patched:
        patched.setattr(deltas, "apply", die)
        with pytest.raises(PowerCut):
            desk.restore(snapshot)


def cut_before_the_end(desk: Desk, snapshot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restore that dies when all is written and noted, before it is over."""

    def die(*_: object) -> None:
        raise PowerCut

    with monkeypatch.context() as patched:
        patched.setattr("scratchflow.node.restore.delta.end_restoring", die)
        patched.setattr("scratchflow.node.restore.in_place.end_restoring", die)
        with pytest.raises(PowerCut):
            desk.restore(snapshot)


def test_an_abandoned_restore_is_saved_and_over(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/README", "second")
    desk.backup()
    interrupt(desk, first, monkeypatch)
    assert [record.restoring for record in read_nodes(desk.place)] == [first]
    desk.write("work/README", "half of two states")
    with pytest.raises(RestoreIncomplete) as caught:
        desk.backup()
    assert "restore --abandon" in caught.value.shown_hint
    assert "`scratchflow restore`" in caught.value.shown_hint
    abandoned = desk.restore(abandon=True)
    assert read_restoring(desk.context.workspace) is None
    assert (desk.work / "README").read_text() == "half of two states"
    assert abandoned.abandoned == first
    assert [record.restoring for record in read_nodes(desk.place)] == [""]
    desk.restore(str(abandoned.safety_snapshot), to=tmp_path / "x")
    assert (tmp_path / "x/work/README").read_text() == "half of two states"
    assert desk.backup(purpose="auto").kind == "unchanged"


@pytest.mark.parametrize("is_warm", [True, False])
def test_what_an_abandoned_restore_had_written_to_the_end_is_the_newest_work(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, *, is_warm: bool
) -> None:
    desk = Desk(msgspec.structs.replace(desk.context, node="node-1", job_id=1))
    first = str(desk.backup().snapshot)
    desk.write("work/README", "second")
    desk.backup()
    if not is_warm:
        rmtree(desk.work)
        forget_base(desk.context.workspace)
    desk = Desk(msgspec.structs.replace(desk.context, job_id=2))
    cut_before_the_end(desk, first, monkeypatch)
    assert (desk.work / "README").read_text() == "hello"
    abandoned = desk.restore(abandon=True)
    newest = read_catalogue(desk.place).newest_readable
    assert newest is not None
    assert (newest.purpose, newest.parent, newest.message) == (
        "restored",
        first,
        f"restored {first}",
    )
    assert abandoned.committed_as == newest.id
    assert f"as snapshot {shown_id(newest.id)}" in "\n".join(shown_restored(abandoned))
    assert read_base(desk.context.workspace, desk.context.store) == newest.id
    (record,) = read_nodes(desk.place)
    assert (record.snapshot, record.job_id, record.restoring) == (newest.id, 2, "")
    settled = settle(desk.context, desk.notify, Settle())
    assert settled.action == "nothing"
    assert (desk.work / "README").read_text() == "hello"


def test_one_that_had_changed_nothing_leaves_the_newest_snapshot_that_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(msgspec.structs.replace(desk.context, node="node-1", job_id=1))
    first = str(desk.backup().snapshot)
    desk.write("work/README", "second")
    second = desk.backup().snapshot
    desk = Desk(msgspec.structs.replace(desk.context, job_id=2))
    interrupt(desk, first, monkeypatch)
    assert desk.restore(abandon=True).committed_as is None
    assert len(desk.ids) == 2
    assert read_catalogue(desk.place).newest_id == second
    (record,) = read_nodes(desk.place)
    assert (record.snapshot, record.job_id) == (second, 2)


def test_after_one_that_left_nothing_nobody_is_told_of_half_a_restore(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(msgspec.structs.replace(desk.context, node="node-1", job_id=1))
    first = str(desk.backup().snapshot)
    desk.write("work/README", "second")
    desk.backup()
    interrupt(desk, first, monkeypatch)
    rmtree(desk.work)
    assert desk.restore(abandon=True).safety_snapshot is None
    assert [record.restoring for record in read_nodes(desk.place)] == [""]


def test_an_abandoned_restore_gives_back_what_was_moved_aside(desk: Desk) -> None:
    taken = str(desk.backup().snapshot)
    before = desk.content()
    begin_restoring(desk.context.workspace, Restoring(snapshot=taken, mode="full"))
    (desk.context.workspace.state / "base.json").unlink()
    desk.work.rename(desk.scratch / f"work.before-{taken}")
    desk.restore(abandon=True)
    assert desk.content() == before
    assert desk.backup().kind == "unchanged"


def test_abandoning_asks_for_something_to_abandon(desk: Desk) -> None:
    desk.backup()
    with pytest.raises(NothingUnfinished):
        desk.restore(abandon=True)


def test_a_failure_before_the_first_change_costs_no_note_and_no_base(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = str(desk.backup().snapshot)
    desk.write("work/README", "second")
    second = desk.backup().snapshot

    def fail(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(deltas, "apply", fail)
        with pytest.raises(Exception, match="Input/output"):
            desk.restore(first)
    assert read_restoring(desk.context.workspace) is None
    assert read_base(desk.context.workspace, desk.context.store) == second
    assert desk.backup().kind == "unchanged"


def test_scratch_may_be_a_symlink(tmp_path: Path) -> None:
    make_desk(tmp_path)
    (tmp_path / "scratch").rename(tmp_path / "disk")
    (tmp_path / "scratch").symlink_to(tmp_path / "disk")
    environment = {"USER": "u", "HOME": "/h"}
    config = str(tmp_path / "config.toml")
    desk = Desk(node_context(load_settings(Asked(config=config), environment), environment))
    desk.write("work/README", "hello")
    first = backup(desk.context, desk.notify, SnapshotOptions())
    desk.write("work/README", "second")
    desk.backup()
    restored = restore(desk.context, desk.notify, RestoreOptions(str(first.snapshot)))
    assert restored.mode == "delta"
    assert (tmp_path / "scratch/work/README").read_text() == "hello"
    assert (tmp_path / "scratch").is_symlink()


NOTHING_KEPT = "keep_last = 1\nkeep_hourly = 0\nkeep_daily = 0\nkeep_weekly = 0\n"


def test_what_a_restore_reads_is_not_pruned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk(tmp_path, f"[profiles.test.backup]\n{NOTHING_KEPT}")
    for number in range(6):
        desk.write("work/file", str(number))
        desk.backup(full=True, prune=False, message="", purpose="auto")
    oldest = desk.ids[0]
    apply = deltas.apply
    pruned: list[list[str]] = []

    def with_company(*arguments: object, **more: object) -> object:
        with desk.context.lock(desk.place, "prune") as lock:
            prune(lock, desk.context.profile.backup)
            sweep(lock, 1 << 40)
        pruned.append(desk.ids)
        return apply(*arguments, **more)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(deltas, "apply", with_company)
    desk.restore(oldest)
    assert (desk.work / "file").read_text() == "0"
    assert oldest in pruned[0]
    assert len(pruned[0]) < 6
    assert readers.held_archives(desk.place, desk.context.now().timestamp()) == set()


def test_a_reader_that_died_keeps_nothing(desk: Desk) -> None:
    taken = str(desk.backup().snapshot)
    now = desk.context.now().timestamp()
    with readers.reading(desk.place, taken, [taken], token=desk.context.token(4)):
        assert readers.held_archives(desk.place, now) == {taken}
        assert readers.held_archives(desk.place, now + 3 * 86400) == set()
        (file,) = (desk.place.directory / "readers").iterdir()
        note = msgspec.json.decode(file.read_bytes())
        note["owner"]["start_ticks"] = 1
        file.write_bytes(msgspec.json.encode(note))
        assert readers.held_archives(desk.place, now) == set()
    assert os.listdir(desk.place.directory / "readers") == []


def test_what_a_killed_reader_left_is_swept_away(desk: Desk) -> None:
    taken = str(desk.backup().snapshot)
    now = desk.context.now().timestamp()
    with readers.reading(desk.place, taken, [taken], token=desk.context.token(4)):
        with desk.context.lock(desk.place, "test") as lock:
            sweep(lock, now)
        assert len(os.listdir(desk.place.directory / "readers")) == 1
        with desk.context.lock(desk.place, "test") as lock:
            sweep(lock, now + 3 * 86400)
        assert os.listdir(desk.place.directory / "readers") == []
