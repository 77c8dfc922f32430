"""`status` and `doctor`: what they say of the auto-backup, the workspace and the store is true."""

from __future__ import annotations

import shutil
import time

import msgspec
import pytest

from scratchflow.config.settings import Settings
from scratchflow.login.host import LoginHost
from scratchflow.login.status import status as looking
from scratchflow.model.allocation import Allocation
from scratchflow.model.profile import EnvironmentOptions
from scratchflow.model.results.status import StatusShown
from scratchflow.model.times import iso_time
from scratchflow.node.autobackup.settings import settings_digest
from scratchflow.store.checks.verified import Verification, record_verified
from scratchflow.store.directory import open_place
from scratchflow.store.heartbeats import Heartbeat, Pulses, beat
from scratchflow.store.retention.marks import unkeep
from tests.unit.conftest import Desk

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

    def hold(self, *others: str) -> None:
        """From here on there is a job on `node-1` and these others, and the workspace is there."""
        profile = msgspec.structs.replace(self.settings.profile, scheduler="slurm", login="local")
        self.settings = msgspec.structs.replace(self.settings, profile=profile)
        job = msgspec.structs.replace(JOB, nodes=(NODE, *others))
        self._patch.setattr(looking, "jobs_seen", lambda _: ([job], []))

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


def with_layers(settings: Settings, layers: EnvironmentOptions) -> Settings:
    """The same, with a profile that has these layers of an environment."""
    profile = msgspec.structs.replace(settings.profile, environment=layers)
    return msgspec.structs.replace(settings, profile=profile)


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


def test_damage_that_a_check_found_is_shown_until_it_is_sound_again(login: Login) -> None:
    (snapshot,) = login.desk.ids
    now = iso_time(time.time()) or ""
    found = f"snapshot `{snapshot}` is damaged: a bit"
    record_verified(login.place, [Verification(snapshot=snapshot, time=now, problem=found)])
    (problem,) = login.look().problems
    assert problem.name == "snapshots.damaged"
    assert problem.detail == f"snapshot {snapshot} is damaged: a bit"
    assert f"`scratchflow snapshots prune {snapshot}`" in problem.fix
    record_verified(login.place, [Verification(snapshot=snapshot, time=now)])
    assert login.problems() == []


def test_what_an_earlier_scratchflow_called_damaged_is_to_be_checked_and_not_to_be_removed(
    login: Login,
) -> None:
    (snapshot,) = login.desk.ids
    found = Verification(snapshot=snapshot, time=iso_time(time.time()) or "", problem="cut short")
    record_verified(login.place, [found])
    (login.place.directory / f"verified/{snapshot}.json").write_bytes(msgspec.json.encode(found))
    (problem,) = login.look().problems
    assert problem.name == "snapshots.doubtful"
    assert "(cut short)" in problem.detail
    assert problem.fix == f"`scratchflow snapshots verify {snapshot}` says whether it is"
