"""One backup of the loop: with the settings of whoever saved last, and a log that cannot fill the store."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from scratchflow.model.events import Warned
from scratchflow.node.autobackup.one_backup import LoopBackup, after_backup
from scratchflow.node.context import NodeContext
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.directory import open_place
from scratchflow.store.heartbeats import Heartbeat
from tests.unit.conftest import Desk, make_desk


def _loop(desk: Desk, *, beside: bool = False) -> tuple[LoopBackup, list[str]]:
    said: list[str] = []
    place = open_place(desk.context.store, desk.context.workspace.name)
    return LoopBackup(desk.context, place, said.append, beside=beside), said


def test_it_says_what_it_saved(desk: Desk) -> None:
    loop, said = _loop(desk)
    taken = loop.take("on schedule", "auto")
    assert said == [
        f"on schedule: snapshot {taken.snapshot}, full, in {said[0].rpartition(' in ')[2]}"
    ]
    (desk.work / "README").unlink()
    loop.take("on schedule", "auto")
    assert said[-1].endswith("; 1 file removed")


def test_what_a_person_saved_since_is_saved_too(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, 'backup.exclude = ["*.log"]\n')
    desk.write("work/a")
    loop, _ = _loop(desk)
    loop.take("on schedule", "auto")
    now = make_desk_with(desk, tmp_path, 'backup.also = ["env"]\nbackup.exclude = ["*.tmp"]\n')
    for path in ("env/b", "work/c.log", "work/d.tmp"):
        desk.write(path)
    now.backup()
    desk.write("work/e")
    loop.take("on schedule", "auto")
    newest = read_catalogue(desk.place).snapshots[-1]
    assert (newest.also, newest.exclude) == (["env"], ["*.tmp"])
    assert newest.files == 4


def make_desk_with(desk: Desk, tmp_path: Path, more: str) -> Desk:
    """The same workspace and store with other settings."""
    (desk.work / "keep").touch()
    desk.work.rename(desk.scratch / "aside")
    again = make_desk(tmp_path, more)
    again.work.rmdir()
    (desk.scratch / "aside").rename(desk.work)
    (desk.work / "keep").unlink()
    return again


def test_its_own_snapshots_change_no_settings(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, 'backup.exclude = ["*.log"]\n')
    desk.write("work/a")
    loop, _ = _loop(desk)
    for number in range(2):
        desk.write(f"work/{number}")
        loop.take("on schedule", "auto")
    assert read_catalogue(desk.place).snapshots[-1].exclude == ["*.log"]


def test_thousands_of_warnings_are_counted_and_a_few_are_logged(desk: Desk) -> None:
    for number in range(50):
        os.mkfifo(desk.work / f"fifo-{number}\n\x1b[2J")
    loop, said = _loop(desk)
    for _ in range(2):
        loop.take("on schedule", "auto")
        assert loop.warnings == 50
    warnings = [line for line in said if line.startswith("warning: ")]
    assert len(warnings) == 40
    assert not any("\x1b" in line or "\n" in line for line in warnings)


def test_only_warnings_are_heard(desk: Desk) -> None:
    loop, said = _loop(desk)
    loop._hear(Warned(code="x", message="no path"))
    assert said == ["warning: no path"]


@pytest.mark.parametrize("unsaved", [0, 3])
def test_the_heartbeat_says_what_the_last_backup_found(desk: Desk, unsaved: int) -> None:
    loop, _ = _loop(desk)
    taken = loop.take("on schedule", "auto")
    taken = msgspec.structs.replace(taken, unsaved=unsaved, unsaved_paths=["x"] * unsaved)
    life = Heartbeat(
        node="n1",
        job_id=7,
        step_id=None,
        pid=1,
        token="t",  # noqa: S106 - no secret
        time="then",
        phase="waiting",
        every_s=60,
    )
    after = after_backup(life, taken, "now", 5)
    assert (after.last_time, after.last_snapshot, after.warnings) == ("now", taken.snapshot, 5)
    assert (after.unsaved, after.unsaved_paths) == (unsaved, ["x"] * unsaved)
    assert (after.node, after.phase) == ("n1", "waiting")


def test_what_goes_with_its_job_while_it_is_saved_does_not_become_the_newest(
    tmp_path: Path,
) -> None:
    desk = make_desk(tmp_path, "")
    for number in range(200):
        desk.write(f"work/{number}")
    profile = msgspec.structs.replace(desk.context.profile, scratch="$SLURM_TMPDIR")
    settings = msgspec.structs.replace(desk.context.settings, profile=profile)
    desk.context = msgspec.structs.replace(desk.context, settings=settings)
    loop, said = _loop(desk)
    whole = loop.take("on schedule", "auto")
    for number in range(1, 200):
        (desk.work / str(number)).unlink()
    (desk.work / "0").write_text("late")
    taken = loop.take("the job ends", "final", job_ends=True)
    catalogue = read_catalogue(desk.place)
    *_, last = catalogue.snapshots
    assert (last.id, last.files, last.beside) == (taken.snapshot, 1, True)
    assert catalogue.newest_id == whole.snapshot
    assert said[-1].endswith("; as a fork, the newest one stays")


def test_what_a_person_removed_before_the_job_ends_stays_removed_on_a_scratch_that_stays(
    tmp_path: Path,
) -> None:
    desk = make_desk(tmp_path, "")
    for number in range(200):
        desk.write(f"work/{number}")
    loop, _ = _loop(desk)
    loop.take("on schedule", "auto")
    for number in range(1, 200):
        (desk.work / str(number)).unlink()
    taken = loop.take("the job ends", "final", job_ends=True)
    assert read_catalogue(desk.place).snapshots[-1].id == taken.snapshot


def test_a_further_node_saves_what_only_it_has_as_a_fork(desk: Desk) -> None:
    base = desk.backup().snapshot
    loop, _ = _loop(desk, beside=True)
    desk.write("work/closed").chmod(0)
    desk.write("work/README", "of node-2")
    fork = loop.take("automatic, of node-2", "auto")
    catalogue = read_catalogue(desk.place)
    assert catalogue.newest_id == base
    saved = catalogue.by_id(fork.snapshot or "")
    assert (saved.beside, saved.message, saved.parent) == (True, "automatic, of node-2", base)
    assert (saved.unsaved, saved.warnings, loop.warnings) == (1, 1, 1)
    again = loop.take("automatic, of node-2", "auto")
    assert (again.kind, again.snapshot, again.unsaved) == ("unchanged", fork.snapshot, 1)


@pytest.mark.slow
def test_a_further_node_with_nothing_of_its_own_does_not_wait_for_the_stores_lock(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = desk.backup().snapshot
    loop, _ = _loop(desk, beside=True)

    def locked(*_: object, **__: object) -> None:
        raise AssertionError("it asks for the lock")

    monkeypatch.setattr(NodeContext, "lock", locked)
    assert loop.take("the job ends", "final", job_ends=True).snapshot == base
    desk.write("work/README", "of node-2")
    with pytest.raises(AssertionError, match="lock"):
        loop.take("the job ends", "final", job_ends=True)
