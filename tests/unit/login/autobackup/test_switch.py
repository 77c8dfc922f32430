"""The auto-backup of several nodes: asked of all at once, and what fails on a further one stops nothing."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from scratchflow.config.settings import Asked, Settings, load_settings
from scratchflow.login import current_job as current
from scratchflow.login.autobackup import running
from scratchflow.login.autobackup import switch as module
from scratchflow.login.autobackup.running import HeldNode
from scratchflow.login.autobackup.switch import _on_every_node, is_on, switch_on
from scratchflow.login.current_job import note_current_job
from scratchflow.login.host import LoginHost
from scratchflow.model.allocation import Allocation, RunningAllocation, ThisMachine
from scratchflow.model.errors.workspace import AutobackupFailed, AutobackupOfOther
from scratchflow.model.events import Event, Log, Warned
from scratchflow.model.requests import SwitchOn
from scratchflow.model.results.backup import AutobackupSwitched
from scratchflow.model.times import iso_time
from scratchflow.node.autobackup.settings import settings_digest
from scratchflow.store.heartbeats import Heartbeat, beat, prepare
from scratchflow.store.nodes import NodeRecord, read_nodes, record_node
from scratchflow.workspace.current_job import noted_job
from tests.unit.conftest import Desk

HELD = RunningAllocation(job_id=7, name="j", state="running", nodes=("node-1", "node-2", "node-3"))


@pytest.fixture
def told() -> list[Event]:
    return []


@pytest.fixture
def login(told: list[Event]) -> LoginHost:
    return LoginHost(load_settings(Asked(), {}), {}, told.append)


def switched(node: str, *, changed: bool) -> AutobackupSwitched:
    return AutobackupSwitched(enabled=True, changed=changed, node=node, every_s=1800)


def test_all_nodes_are_asked_at_once_and_what_fails_on_a_further_one_is_a_warning(
    login: LoginHost, told: list[Event]
) -> None:
    together = threading.Barrier(3)

    def do(on: LoginHost, there: HeldNode) -> AutobackupSwitched:
        together.wait(60)
        on.remark(f"speaks: {there.node}")
        if there.node == "node-2":
            raise AutobackupFailed(node="node-2", reason="it gives no sign of life", log="log")
        return switched(there.node, changed=there.node == "node-3")

    done = _on_every_node(login, HELD, do)
    assert (done.node, done.changed, done.others) == ("node-1", True, ["node-3"])
    assert [one.message for one in told if isinstance(one, Log)] == ["speaks: node-1"]
    (warned,) = [one for one in told if isinstance(one, Warned)]
    assert warned.code == "node.other_failed"
    assert warned.message.startswith("`node-2`: ")


def test_an_error_of_the_first_node_is_raised_after_the_others_are_through(
    login: LoginHost,
) -> None:
    through: list[str] = []

    def do(_: LoginHost, there: HeldNode) -> AutobackupSwitched:
        if there.node == "node-1":
            raise AutobackupFailed(node="node-1", reason="no", log="log")
        through.append(there.node)
        return switched(there.node, changed=True)

    with pytest.raises(AutobackupFailed):
        _on_every_node(login, HELD, do)
    assert sorted(through) == ["node-2", "node-3"]


def test_one_machine_has_no_others(login: LoginHost) -> None:
    here = ThisMachine(name="", nodes=("laptop",))
    done = _on_every_node(login, here, lambda _, there: switched(there.node, changed=False))
    assert (done.node, done.changed, done.others) == ("laptop", False, [])


@pytest.mark.parametrize("missing", [None, "node-1", "node-3"])
def test_there_is_nothing_to_do_only_when_it_runs_on_every_node(
    login: LoginHost, monkeypatch: pytest.MonkeyPatch, missing: str | None
) -> None:
    def running(_: LoginHost, __: object, there: HeldNode) -> Heartbeat | None:
        life = Heartbeat(
            node=there.node,
            job_id=7,
            step_id=1,
            pid=1,
            token="t",  # noqa: S106 - no secret
            every_s=1800,
            phase="waiting",
            time=iso_time(time.time()) or "",
        )
        return None if there.node == missing else life

    monkeypatch.setattr(module, "running_on", running)
    found = is_on(login, HELD)
    if missing:
        assert found is None
    else:
        assert found
        assert (found.changed, found.others) == (False, ["node-2", "node-3"])


@pytest.mark.parametrize(
    ("jobs", "works", "noted"),
    [([6, 7], True, 7), ([6, 7], False, 6), ([7], False, 7)],
)
def test_commands_go_to_the_job_when_its_auto_backup_runs_or_the_other_job_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: list[int], works: bool, noted: int
) -> None:
    def switch(*_: object, **__: object) -> AutobackupSwitched:
        assert noted_job(tmp_path, "local") == 6
        if works:
            return switched("node-1", changed=True)
        raise AutobackupFailed(node="node-1", reason="no", log="log")

    login = LoginHost(load_settings(Asked(), {}), {"HOME": str(tmp_path)}, lambda _: None)
    note_current_job(login, 6)
    ours = [Allocation(job_id=one, name="j", state="running", nodes=("n",)) for one in jobs]
    monkeypatch.setattr(module, "held_node", lambda *_: HELD)
    monkeypatch.setattr(module, "_switch_on", switch)
    monkeypatch.setattr(current, "our_jobs", lambda *_: ours)
    with nullcontext() if works else pytest.raises(AutobackupFailed):
        switch_on(login, SwitchOn(job_id=7))
    assert noted_job(tmp_path, "local") == noted


def test_the_copies_of_the_profiles_other_jobs_are_left_when_commands_go_to_this_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = LoginHost(desk.context.settings, {"HOME": str(desk.scratch)}, lambda _: None)
    name = login.settings.name
    copies = {
        "node-0": (6, f"scratchflow:{name}:01234567"),
        "node-1": (7, f"scratchflow:{name}:89abcdef"),
        "node-8": (8, "scratchflow:another:01234567"),
        "node-9": (None, ""),
    }
    snapshot = desk.backup().snapshot or ""
    for node, (job_id, job_name) in copies.items():
        record = NodeRecord(
            node=node,
            snapshot=snapshot,
            workspace_path="/s/work",
            job_id=job_id,
            job_name=job_name,
            time="2026-01-01T00:00:00Z",
        )
        record_node(desk.place, record)
    monkeypatch.setattr(module, "held_node", lambda *_: HELD)
    monkeypatch.setattr(module, "_switch_on", lambda *_, **__: switched("node-1", changed=True))
    switch_on(login, SwitchOn(job_id=7, dry_run=True))
    assert not any(one.left for one in read_nodes(desk.place))
    switch_on(login, SwitchOn(job_id=7))
    assert [one.node for one in read_nodes(desk.place) if one.left] == ["node-0"]
    assert noted_job(desk.scratch, name) == 7


def with_scratch(settings: Settings, scratch: str) -> Settings:
    """The same profile with this scratch."""
    profile = msgspec.structs.replace(settings.profile, scratch=scratch)
    return msgspec.structs.replace(settings, profile=profile)


def beat_for_other(desk: Desk, theirs: Settings, **fields: object) -> None:
    """A heartbeat on `node-1` of the auto-backup of another profile's job, with these settings."""
    life = Heartbeat(
        node="node-1",
        job_id=8,
        step_id=1,
        pid=1,
        token="t",  # noqa: S106 - no secret
        every_s=1800,
        phase="waiting",
        time=iso_time(time.time()) or "",
        job_name="scratchflow:login:01234567",
        settings=settings_digest(theirs.profile),
    )
    prepare(desk.place)
    beat(desk.place, msgspec.structs.replace(life, **fields))


@pytest.mark.parametrize(
    ("theirs", "ours"), [("/s/$USER", "/other/$USER"), ("/s/$SLURM_JOB_ID", "/s/$SLURM_JOB_ID")]
)
@pytest.mark.parametrize("dry_run", [True, False])
def test_beside_another_profiles_loop_of_another_copy_none_is_started(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, theirs: str, ours: str, *, dry_run: bool
) -> None:
    desk.backup()
    beat_for_other(desk, with_scratch(desk.context.settings, theirs))
    monkeypatch.setattr(running, "step_runs", lambda *_: True)
    monkeypatch.setattr(module, "start_loop", lambda *_, **__: pytest.fail("started"))
    environment = {"HOME": "/h", "USER": "u", "PATH": ""}
    login = LoginHost(with_scratch(desk.context.settings, ours), environment, lambda _: None)
    with pytest.raises(AutobackupOfOther) as caught:
        module._switch_on(login, HELD, SwitchOn(dry_run=dry_run), beside=False)
    assert "on `node-1` the auto-backup of profile `login` (job 8)" in str(caught.value)
    for way_out in ("--node NODE", "--set workspace=NAME", "scratchflow -p login clear"):
        assert way_out in caught.value.shown_hint
    assert caught.value.exit_code == AutobackupFailed.exit_code


@pytest.mark.parametrize(
    ("name", "phase", "runs", "scratch", "is_shared"),
    [
        ("scratchflow:login:01234567", "waiting", True, "/s/$USER", True),
        ("scratchflow:login:01234567", "waiting", False, "/s/$USER", False),
        ("scratchflow:login:01234567", "ended", True, "/s/$USER", False),
        ("scratchflow:test:01234567", "waiting", True, "/s/$USER", False),
        ("other", "waiting", True, "/s/$USER", False),
    ],
)
def test_the_loop_of_another_profile_that_saves_this_workspace_is_as_good(
    desk: Desk,
    told: list[Event],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    phase: Literal["waiting", "ended"],
    runs: bool,
    scratch: str,
    is_shared: bool,
) -> None:
    desk.backup()
    theirs = with_scratch(desk.context.settings, scratch)
    beat_for_other(desk, theirs, phase=phase, job_name=name)
    monkeypatch.setattr(running, "step_runs", lambda *_: runs)
    monkeypatch.setattr(module, "workspace_at_former_scratch", lambda *_: None)
    login = LoginHost(theirs, {"HOME": "/h", "USER": "u", "PATH": ""}, told.append)
    wanted = SwitchOn(dry_run=True)
    done = module._switch_on(login, HELD, wanted, beside=False)
    assert (done.of_profile, done.changed) == (("login", False) if is_shared else ("", True))
    said = [one.message for one in told if isinstance(one, Log)]
    assert any("auto-backup of profile `login` (job 8) saves this" in one for one in said) == (
        is_shared
    )
