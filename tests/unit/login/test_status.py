"""`status` and `doctor`: what they say of the auto-backup, the workspace and the store is true."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import msgspec
import pytest

from scratchflow.cli.status import shown
from scratchflow.login import status as looking
from scratchflow.login.check import check_login, check_node
from scratchflow.login.host import LoginHost
from scratchflow.login.problems import half_restored
from scratchflow.model.allocation import Allocation
from scratchflow.model.requests import NOTHING
from scratchflow.model.results import StatusShown
from scratchflow.model.times import iso_time
from scratchflow.model.units import Duration
from scratchflow.node.autobackup.settings import settings_digest
from scratchflow.node.context import node_context
from scratchflow.node.progress import Notifier
from scratchflow.store.checks.verified import Verification, record_verified
from scratchflow.store.directory import open_place
from scratchflow.store.heartbeats import Heartbeat, Pulses, beat
from scratchflow.store.retention.marks import unkeep
from scratchflow.workspace.notes import Restoring, begin_restoring
from tests.unit.conftest import Desk, make_desk

NODE = "node-1"
JOB = Allocation(job_id=7, name="job", state="running", nodes=(NODE,))


class Login:
    """A login host that looks at a desk's store, with or without a job on another machine."""

    def __init__(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        self.desk = desk
        self._patch = monkeypatch
        self.environment = {"HOME": str(desk.scratch.parent), "PATH": "", "USER": "u"}
        self.settings = desk.context.settings
        self.place = open_place(desk.context.store, "work")

    def hold(self) -> None:
        """From here on there is a job on `node-1`, and the workspace is there."""
        profile = msgspec.structs.replace(self.settings.profile, scheduler="slurm", login="local")
        self.settings = msgspec.structs.replace(self.settings, profile=profile)
        self._patch.setattr(looking, "profile_jobs", lambda _: [JOB])

    def look(self, pulses: Pulses | None = None) -> StatusShown:
        return looking.look(
            LoginHost(self.settings, self.environment, lambda _: None), pulses=pulses
        )

    def problems(self, pulses: Pulses | None = None) -> list[str]:
        return [problem.name for problem in self.look(pulses).problems]

    def beat(self, seconds_ago: float = 0, **fields: object) -> None:
        life = Heartbeat(
            node=NODE if self.settings.profile.scheduler == "slurm" else self.desk.context.node,
            job_id=7 if self.settings.profile.scheduler == "slurm" else None,
            step_id=None,
            pid=1,
            token="t",  # noqa: S106 - no secret
            every_s=1800,
            phase="waiting",
            time=iso_time(time.time() - seconds_ago) or "",
            settings=settings_digest(self.settings.profile),
        )
        beat(self.place, msgspec.structs.replace(life, **fields))


@pytest.fixture
def login(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Login:
    desk.backup()
    return Login(desk, monkeypatch)


@pytest.fixture
def held(login: Login) -> Login:
    node = msgspec.structs.replace(login.desk.context, node=NODE, job_id=7)
    login.desk.write("work/more")
    Desk(node).backup()
    login.hold()
    return login


def test_the_auto_backup_of_one_machine_is_on_without_a_session(login: Login) -> None:
    login.beat()
    assert login.look().autobackup.enabled
    assert login.problems() == []
    login.beat(phase="ended")
    assert not login.look().autobackup.enabled


def test_a_workspace_that_was_deleted_on_the_node_is_said_to_be_gone(held: Login) -> None:
    held.beat(workspace_exists=True)
    seen = held.look()
    assert (seen.workspace.exists, seen.workspace.base_snapshot) == (True, held.desk.ids[-1])
    held.beat(workspace_exists=False)
    seen = held.look()
    assert (seen.workspace.exists, seen.workspace.base_snapshot) == (False, None)
    assert [problem.name for problem in seen.problems] == ["workspace.missing"]
    assert "from snapshot" not in "\n".join(shown(seen))


def test_without_an_auto_backup_the_record_says_how_old_it_is(held: Login) -> None:
    assert held.look().workspace.seen_time is not None


def test_doctor_says_that_a_deleted_workspace_is_amiss(login: Login) -> None:
    shutil.rmtree(login.desk.work)
    checks = {
        one.name: one
        for one in check_login(LoginHost(login.settings, login.environment, lambda _: None)).checks
    }
    assert not checks["workspace"].ok
    assert "is not there any more" in checks["workspace"].detail


def test_doctor_knows_it_from_the_record_when_the_notes_are_gone_too(held: Login) -> None:
    shutil.rmtree(held.desk.scratch)
    environment = {**held.environment, "SLURMD_NODENAME": NODE, "SLURM_JOB_ID": "7"}
    checks = {
        one.name: one
        for one in check_node(
            node_context(held.settings, environment), Notifier(lambda _: None), NOTHING, environment
        ).checks
    }
    assert not checks["workspace"].ok
    environment["SLURM_JOB_ID"] = "8"
    checks = {
        one.name: one
        for one in check_node(
            node_context(held.settings, environment), Notifier(lambda _: None), NOTHING, environment
        ).checks
    }
    assert checks["workspace"].ok


def test_a_smaller_snapshot_is_shown_until_a_person_agrees_or_restores(login: Login) -> None:
    desk = login.desk
    before = desk.ids[-1]
    for path in list(desk.work.rglob("*")):
        if path.is_file():
            path.unlink()
    desk.backup(purpose="auto")
    (problem,) = login.look().problems
    assert problem.name == "backup.shrunk"
    assert "`work` holds 0 files (0 B) instead of 3 files" in problem.detail
    assert before in problem.fix
    desk.restore(before)
    assert login.problems() == []
    shutil.rmtree(desk.work / "data")
    (desk.work / "README").unlink()
    desk.backup(purpose="auto")
    assert login.problems() == ["backup.shrunk"]
    for mark in [one for one in desk.ids if unkeep(desk.place, one)]:
        assert mark
    desk.write("work/next")
    desk.backup(purpose="auto")
    assert login.problems() == []


def test_what_could_not_be_read_is_shown_by_name(held: Login) -> None:
    paths = [f"work/{number}" for number in range(5)]
    result = iso_time(time.time())
    held.beat(unsaved=5, unsaved_paths=paths, warnings=5, last_time=result, workspace_exists=True)
    (problem,) = held.look().problems
    assert problem.name == "backup.unsaved"
    assert "5 paths: `work/0`, `work/1`, `work/2`, 2 more" in problem.detail
    assert held.look().autobackup.unsaved == 5


def test_what_a_backup_by_hand_could_not_read_is_shown_by_name(login: Login) -> None:
    closed = login.desk.write("work/closed")
    closed.chmod(0)
    login.desk.write("work/open")
    login.desk.backup()
    (problem,) = login.look().problems
    assert problem.name == "backup.unsaved"
    assert "1 path: `work/closed`" in problem.detail


def test_what_could_not_be_read_is_shown_though_nothing_else_changed(login: Login) -> None:
    login.desk.write("work/closed").chmod(0)
    login.desk.backup()
    assert login.problems() == ["backup.unsaved"]
    (login.desk.work / "closed").chmod(0o600)
    login.desk.backup()
    assert login.problems() == []


def test_a_manifest_that_cannot_be_read_is_shown_also_when_it_is_not_the_newest(
    login: Login,
) -> None:
    old = login.desk.ids[0]
    login.desk.write("work/more")
    login.desk.backup()
    (login.desk.place.directory / f"{old}.json").write_text("{")
    assert "snapshots.unreadable" in login.problems()


def test_a_restore_that_did_not_finish_is_shown(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    desk.write("work/file")
    snapshot = str(desk.backup().snapshot)
    begin_restoring(desk.context.workspace, Restoring(snapshot=snapshot, mode="delta"))
    environment = {"USER": "u", "HOME": "/h"}
    (problem,) = list(half_restored(desk.context.settings, environment))
    assert problem.name == "restore.incomplete"
    assert "--abandon" in problem.fix


def test_settings_that_changed_since_its_start_are_shown(held: Login) -> None:
    held.beat(settings="other", workspace_exists=True)
    assert held.problems() == ["autobackup.other_settings"]


def test_a_beat_from_the_future_is_neither_life_nor_death_until_it_changes(held: Login) -> None:
    held.beat(seconds_ago=-7200, workspace_exists=True)
    assert held.problems() == ["autobackup.unknown"]
    pulses = Pulses()
    assert held.problems(pulses) == ["autobackup.unknown"]
    held.beat(seconds_ago=-7230, beats=2, workspace_exists=True)
    assert held.problems(pulses) == []
    held.beat(seconds_ago=7200, workspace_exists=True)
    assert held.problems() == ["autobackup.overdue"]


def test_damage_that_a_check_found_is_shown_until_it_is_sound_again(login: Login) -> None:
    (snapshot,) = login.desk.ids
    now = iso_time(time.time()) or ""
    record_verified(login.place, [Verification(snapshot=snapshot, time=now, problem="a bit")])
    (problem,) = login.look().problems
    assert problem.name == "snapshots.damaged"
    assert f"snapshot {snapshot} is damaged: a bit" in problem.detail
    record_verified(login.place, [Verification(snapshot=snapshot, time=now)])
    assert login.problems() == []


def test_the_oldest_check_is_shown(login: Login) -> None:
    (snapshot,) = login.desk.ids
    days_ago = iso_time(time.time() - 4 * 86400 - 60) or ""
    record_verified(login.place, [Verification(snapshot=snapshot, time=days_ago)])
    assert "oldest check: 4d ago" in "\n".join(shown(login.look()))


def test_an_interval_for_one_start_is_not_called_a_change_of_settings(held: Login) -> None:
    held.beat(every_s=1, workspace_exists=True)
    backup = msgspec.structs.replace(held.settings.profile.backup, every=Duration(1))
    once = msgspec.structs.replace(held.settings.profile, backup=backup)
    assert settings_digest(once) == settings_digest(held.settings.profile)
    assert held.problems() == []
