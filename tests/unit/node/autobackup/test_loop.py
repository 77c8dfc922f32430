"""The loop of the auto-backup, with a backup that takes long."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.model.ages import at
from scratchflow.model.errors.store import StoreUnusable
from scratchflow.model.profile import EnvironmentOptions
from scratchflow.model.requests import Autobackup
from scratchflow.model.results.backup import BackupTaken
from scratchflow.model.times import epoch
from scratchflow.node.autobackup import loop as autobackup_loop
from scratchflow.node.autobackup import one_backup as loop_backup
from scratchflow.node.autobackup.loop import run_autobackup
from scratchflow.node.autobackup.only_one import only_one
from scratchflow.node.autobackup.schedule import Moment
from scratchflow.node.backup import backup
from scratchflow.node.context import NodeContext
from scratchflow.node.snapshot.options import SnapshotOptions
from scratchflow.store.catalogue import read_catalogue
from scratchflow.store.cut_off import cut_off
from scratchflow.store.directory import open_place
from scratchflow.store.heartbeats import Heartbeat, beat, read_heartbeat
from tests.unit.conftest import Desk, make_desk
from tests.unit.login.status.test_status import with_layers
from tests.unit.node.test_other_workspaces import second

pytestmark = pytest.mark.slow  # many backups

_write_to_the_log = autobackup_loop._write_to_the_log


@pytest.fixture(autouse=True)
def nothing_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the priority nor the stderr of the test's own process."""
    monkeypatch.setattr(autobackup_loop, "_lower_priority", lambda: "")
    monkeypatch.setattr(autobackup_loop, "_write_to_the_log", lambda _: None)


def test_it_beats_while_a_backup_takes_long(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    beats: list[Heartbeat] = []
    threads = threading.active_count()

    def slow(*_: object) -> None:
        while len([life for life in beats if life.phase == "backing up"]) < 4:
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(autobackup_loop, "BEAT_S", 0.01)
    monkeypatch.setattr(autobackup_loop, "beat", lambda _, life: beats.append(life))
    monkeypatch.setattr(loop_backup, "backup", slow)
    with pytest.raises(KeyboardInterrupt):
        run_autobackup(desk.context, desk.notify, Autobackup(token="t", end_time=time.time()), {})  # noqa: S106 - no secret
    assert threading.active_count() == threads


def test_a_second_one_for_the_same_job_ends_at_once(desk: Desk) -> None:
    place = open_place(desk.context.store, desk.context.workspace.name)
    life = Heartbeat(
        node=desk.context.node,
        job_id=desk.context.job_id,
        step_id=None,
        pid=1,
        token="first",  # noqa: S106 - no secret
        every_s=1,
        phase="waiting",
        time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    )
    with only_one(desk.context, place, "") as first:
        assert first
        beat(place, life)
        began = time.monotonic()
        ended = run_autobackup(desk.context, desk.notify, Autobackup(token="second"), {})  # noqa: S106 - no secret
        assert time.monotonic() - began < 5
    assert (ended.reason, ended.backups) == ("another one runs on this node already", 0)
    result = read_heartbeat(place, desk.context.node)
    assert result is not None
    assert result.token == life.token


class Loop:
    """A loop that is run to its first rest, or to any number of them; what it said in between."""

    def __init__(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        self.desk = desk
        self.lines: list[str] = []
        self.beats: list[Heartbeat] = []
        self._patch = monkeypatch
        monkeypatch.setattr(autobackup_loop, "_say", self.lines.append)

    def run(self, backups: int, between: Callable[[], None] = lambda: None) -> None:
        """Ends, as if switched off, when so many backups were tried; `between` two of them."""
        tried = 0

        def heard(_: object, life: Heartbeat) -> None:
            nonlocal tried
            self.beats.append(life)
            if len(self.beats) > 1 and self.beats[-2].phase == "backing up" != life.phase:
                tried += 1
                if tried < backups:
                    between()
            if tried >= backups and life.phase == "waiting":
                os.kill(os.getpid(), signal.SIGUSR1)

        self._patch.setattr(autobackup_loop, "beat", heard)
        run_autobackup(self.desk.context, self.desk.notify, Autobackup(token="t"), {})  # noqa: S106 - no secret


@pytest.fixture
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loop:
    """A loop that saves every second."""
    desk = make_desk(tmp_path, '[profiles.test.backup]\nevery = "1s"\n')
    for number in range(10):
        desk.write(f"work/{number}")
    return Loop(desk, monkeypatch)


def test_make_clean_does_not_stop_it(quick: Loop) -> None:
    def make_clean() -> None:
        for path in quick.desk.work.iterdir():
            path.unlink()

    quick.run(2, make_clean)
    last = read_catalogue(quick.desk.place).snapshots[-1]
    assert (last.files, last.shrunk, quick.beats[-1].last_error) == (0, True, None)
    assert quick.beats[-1].shrunk
    assert any("`work` holds 0 files" in line for line in quick.lines)


class NotedCompaction:
    """Does nothing, and notes what the loop asks of it."""

    def __init__(self, *_: object) -> None:
        self.asked: list[str] = []

    def look_again(self) -> None:
        self.asked.append("look again")

    def tend(self, wait_s: float, left_s: float | None) -> None:
        assert wait_s <= 1
        assert left_s is None
        if self.asked[-1:] != ["tend"]:
            self.asked.append("tend")

    def stop(self) -> None:
        self.asked.append("stop")


def test_compaction_ends_before_a_backup_and_looks_again_when_one_removed_snapshots(
    quick: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = NotedCompaction()
    pruned = iter([[], ["20200101T000000Z-abcdef"]])

    def backup_that_prunes(*given: Any) -> BackupTaken:
        return msgspec.structs.replace(backup(*given), pruned=next(pruned))

    monkeypatch.setattr(loop_backup, "backup", backup_that_prunes)
    monkeypatch.setattr(autobackup_loop, "Compaction", lambda *_: noted)
    quick.run(2, lambda: void(quick.desk.write("work/more")))
    assert noted.asked[:4] == ["stop", "tend", "stop", "look again"]
    assert noted.asked[-1] == "stop"


def test_what_it_cannot_read_is_in_log_heartbeat_and_each_manifest_alone(quick: Loop) -> None:
    closed = quick.desk.write("work/closed")
    closed.chmod(0)
    quick.run(2, lambda: void(quick.desk.write("work/more")))
    assert [one.unsaved for one in read_catalogue(quick.desk.place).snapshots] == [1, 1]
    assert [one.warnings for one in read_catalogue(quick.desk.place).snapshots] == [1, 1]
    life = quick.beats[-1]
    assert (life.unsaved, life.unsaved_paths, life.warnings) == (1, ["work/closed"], 1)
    assert len([line for line in quick.lines if "work/closed" in line]) == 2


def test_a_directory_that_a_person_adds_meanwhile_stays_saved(quick: Loop) -> None:
    """`config set backup.also '["env"]'` and `backup`, while the loop has the settings of its start."""
    desk = quick.desk
    for number in range(100):
        desk.write(f"env/{number}", "x" * 1000)

    def somebody_backs_up() -> None:
        workspace = msgspec.structs.replace(desk.context.workspace, also=("env",))
        backup(
            msgspec.structs.replace(desk.context, workspace=workspace),
            desk.notify,
            SnapshotOptions(),
        )
        desk.write("work/more")

    quick.run(2, somebody_backs_up)
    last = read_catalogue(desk.place).snapshots[-1]
    assert (quick.beats[-1].last_error, last.also, last.files) == (None, ["env"], 111)


def without_excludes(context: NodeContext) -> NodeContext:
    options = msgspec.structs.replace(context.profile.backup, exclude=[])
    profile = msgspec.structs.replace(context.profile, backup=options)
    settings = msgspec.structs.replace(context.settings, profile=profile)
    return msgspec.structs.replace(context, settings=settings)


def test_what_clear_saves_with_newer_excludes_stays_in_the_last_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`config set backup.exclude '[]'` and `clear`, while the loop has the settings of its start."""
    excluded = make_desk(tmp_path, '[profiles.test.backup]\nevery = "1s"\nexclude = ["data"]\n')
    excluded.write("work/data/precious")
    excluded.write("work/source")

    def clear_saves() -> None:
        everything = without_excludes(excluded.context)
        backup(
            everything, excluded.notify, SnapshotOptions(message="before clear", purpose="final")
        )
        excluded.write("work/more")

    Loop(excluded, monkeypatch).run(2, clear_saves)
    last = read_catalogue(excluded.place).snapshots[-1]
    assert (last.purpose, last.exclude, last.files) == ("auto", [], 3)


def test_its_last_one_keeps_what_the_snapshot_before_held(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, '[profiles.test.backup]\nalso = ["env"]\n')
    desk.write("work/file")
    desk.write("env/file")
    desk.backup()
    desk.write("env/file", "changed")
    workspace = msgspec.structs.replace(desk.context.workspace, also=())
    context = msgspec.structs.replace(desk.context, workspace=workspace)
    taken = backup(context, desk.notify, SnapshotOptions(purpose="final"))
    assert (taken.kind, taken.files) == ("incremental", 2)


def test_it_says_whether_the_workspace_is_there(quick: Loop) -> None:
    quick.run(1)
    assert quick.beats[-1].workspace_exists is True
    quick.beats.clear()
    shutil.rmtree(quick.desk.work)
    quick.run(1)
    assert quick.beats[-1].workspace_exists is False


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_nor_does_it_call_a_workspace_gone_that_it_may_not_look_at(quick: Loop) -> None:
    scratch = quick.desk.scratch
    try:
        quick.run(2, lambda: scratch.chmod(0))
    finally:
        scratch.chmod(0o700)
    assert quick.beats[-1].workspace_exists is None
    assert "closed to you" in (quick.beats[-1].last_error or "")


def test_it_says_that_the_workspace_has_become_a_symlink(quick: Loop) -> None:
    quick.run(1)
    assert quick.beats[-1].workspace_link == ""
    quick.beats.clear()
    moved = quick.desk.work.rename(quick.desk.work.with_name("elsewhere"))
    quick.desk.work.symlink_to(moved)
    quick.run(1)
    assert quick.beats[-1].workspace_link == str(quick.desk.work)


def test_it_says_that_the_environment_of_the_profile_is_not_there(quick: Loop) -> None:
    settings = with_layers(quick.desk.context.settings, EnvironmentOptions(venv="env"))
    quick.desk.context = msgspec.structs.replace(quick.desk.context, settings=settings)
    quick.run(1)
    assert (quick.beats[-1].missing_layer, quick.beats[-1].missing_path) == ("venv", "env")
    quick.beats.clear()
    quick.desk.write("env/bin/activate")
    quick.run(1)
    assert (quick.beats[-1].missing_layer, quick.beats[-1].missing_path) == ("", "")


def test_a_snapshot_from_the_future_does_not_delay_the_next(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead = datetime.now(timezone.utc) + timedelta(hours=5)
    backup(msgspec.structs.replace(desk.context, now=lambda: ahead), desk.notify, SnapshotOptions())
    beats: list[Heartbeat] = []

    def heard(_: object, life: Heartbeat) -> None:
        beats.append(life)
        if len(beats) == 1:
            os.kill(os.getpid(), signal.SIGUSR1)

    monkeypatch.setattr(autobackup_loop, "beat", heard)
    run_autobackup(desk.context, desk.notify, Autobackup(token="t"), {})  # noqa: S106 - no secret
    assert (epoch(beats[0].next_time) or 0) <= time.time() + 1800
    assert beats[0].next_why == "regular"
    assert [life.beats for life in beats] == list(range(1, len(beats) + 1))


def void(_: object) -> None:
    """For what is done for its effect alone."""


def test_it_saves_a_second_workspace_too_also_when_its_own_is_gone(quick: Loop) -> None:
    other = second(quick.desk)
    other.write("p2/file")
    other.backup()
    other.write("p2/unsaved")
    quick.run(1)
    assert len(other.ids) == 2
    assert [(one.name, one.snapshot) for one in quick.beats[-1].others] == [("p2", other.ids[-1])]
    shutil.rmtree(quick.desk.work)
    other.write("p2/more")
    quick.run(1)
    assert len(other.ids) == 3


def test_at_the_jobs_end_every_workspace_gets_a_last_snapshot(
    quick: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick.desk.backup()
    other = second(quick.desk)
    other.write("p2/file")
    other.backup()
    other.write("p2/unsaved")
    quick.desk.write("work/unsaved")

    def told_to_end(_: object, life: Heartbeat) -> None:
        if life.beats == 1:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(autobackup_loop, "beat", told_to_end)
    run_autobackup(quick.desk.context, quick.desk.notify, Autobackup(token="t"), {})  # noqa: S106 - no secret
    for desk in (quick.desk, other):
        last = read_catalogue(desk.place).snapshots[-1]
        assert (last.purpose, last.message) == ("final", "the job ends")


def test_the_next_one_is_never_told_for_after_the_end(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.backup()
    beats: list[Heartbeat] = []

    def heard(_: object, life: Heartbeat) -> None:
        beats.append(life)
        if life.phase == "waiting" and life.last_duration_s is not None:
            os.kill(os.getpid(), signal.SIGUSR1)

    monkeypatch.setattr(autobackup_loop, "beat", heard)
    end_s = time.time() + 2  # the last one before it is due after a second
    run_autobackup(desk.context, desk.notify, Autobackup(token="t", end_time=end_s), {})  # noqa: S106 - no secret
    told = [epoch(life.next_time) or 0 for life in beats if life.next_time]
    assert beats[-1].last_time
    assert max(told) <= end_s


def test_after_a_new_start_it_knows_when_the_one_before_saved(quick: Loop) -> None:
    quick.run(1)
    (last,) = read_catalogue(quick.desk.place).snapshots
    quick.beats.clear()
    quick.run(1)
    assert quick.beats[0].last_time == last.time


def test_its_log_has_short_ids_and_local_times(capfd: pytest.CaptureFixture[str]) -> None:
    autobackup_loop._say("snapshot 20261115T195140Z-570643, until 2026-11-15T19:52:13Z")
    said = capfd.readouterr().err
    assert said.rstrip().endswith(f" snapshot 570643, until {at('2026-11-15T19:52:13Z')}")
    assert "Z" not in said


def test_a_log_that_cannot_be_written_is_told_as_a_store_that_cannot(tmp_path: Path) -> None:
    (tmp_path / "node-1.log").mkdir()
    with pytest.raises(StoreUnusable, match=r"[Ii]s a directory"):
        _write_to_the_log(tmp_path / "node-1.log")


def test_while_its_store_is_away_it_says_so_in_the_home(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = iter(range(0, 10_000, 30))
    began = time.time()
    monkeypatch.setattr(autobackup_loop, "_say", lambda _: None)
    monkeypatch.setattr(
        autobackup_loop, "_now", lambda: Moment(wall_s=began + next(ticks), monotonic_s=0.0)
    )
    home = tmp_path / "home"
    place = open_place(desk.context.store, desk.context.workspace.name)
    request = Autobackup(token="t", end_time=began + 86400)  # noqa: S106 - no secret
    loop = autobackup_loop._Loop(desk.context, place, request, {"HOME": str(home)}, "")
    loop._beat()
    life = read_heartbeat(place, desk.context.node)
    assert life is not None
    assert cut_off(home, place, life) is None
    away = desk.context.store.rename(tmp_path / "away")
    loop._beat()
    said = cut_off(home, place, life)
    assert said is not None
    assert str(desk.context.store) in said.reason
    away.rename(desk.context.store)
    loop._beat()
    assert cut_off(home, place, life) is None


def test_on_a_further_node_the_job_ends_with_forks_that_name_the_node(
    quick: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = quick.desk.backup().snapshot
    other = second(quick.desk)
    other.write("p2/file")
    other.backup()
    for desk, path in ((quick.desk, "work/unsaved"), (other, "p2/unsaved")):
        desk.write(path)

    def told_to_end(_: object, life: Heartbeat) -> None:
        if life.beats == 1:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(autobackup_loop, "beat", told_to_end)
    request = Autobackup(token="t", beside=True)  # noqa: S106 - no secret
    run_autobackup(quick.desk.context, quick.desk.notify, request, {})
    for desk in (quick.desk, other):
        last = read_catalogue(desk.place).snapshots[-1]
        assert (last.beside, last.purpose) == (True, "final")
        assert last.message == f"the job ends, of {quick.desk.context.node}"
    assert read_catalogue(quick.desk.place).newest_id == base
