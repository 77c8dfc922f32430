"""`make ready`: a look; and on a node that is held, the workspace and the auto-backup, in one request."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from scratchflow.cluster.slurm.client import Slurm
from scratchflow.cluster.slurm.request import job_name
from scratchflow.dispatch import make_ready as module
from scratchflow.dispatch.make_ready import make_ready
from scratchflow.login.host import LoginHost
from scratchflow.model.allocation import RunningAllocation
from scratchflow.model.errors.restore import TargetNotEmpty
from scratchflow.model.errors.store import StoreLost
from scratchflow.model.events import PHASE_WORKSPACE, Event, Progress
from scratchflow.model.requests import MakeReady, Settle, SwitchOn
from scratchflow.model.results.backup import AutobackupSwitched
from scratchflow.model.results.restore import Settled
from scratchflow.model.results.up import MadeReady
from scratchflow.testing.slurm import FakeSlurm
from tests.unit.conftest import Desk

THERE = Settled(action="nothing", path="/scratch/u/work", snapshot=None)
ON = AutobackupSwitched(enabled=True, changed=False, node="node-1", every_s=1800)
STARTED = msgspec.structs.replace(ON, changed=True)


class Login:
    """A login host with a node that answers; what was asked of it is kept."""

    def __init__(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fake = FakeSlurm()
        self.events: list[Event] = []
        self.settled: list[tuple[RunningAllocation, Any]] = []
        self.switched: list[SwitchOn] = []
        self.is_on: AutobackupSwitched | None = ON
        self.answer: Settled | Exception = THERE
        settings = desk.context.settings
        profile = msgspec.structs.replace(settings.profile, scheduler="slurm", login="local")
        settings = msgspec.structs.replace(settings, profile=profile)
        environment = {"HOME": str(desk.scratch.parent), "PATH": "", "USER": "u"}
        self.host = LoginHost(settings, environment, self.events.append)
        slurm = Slurm(self.fake, "alice", "login")
        monkeypatch.setattr(LoginHost, "slurm", slurm)
        monkeypatch.setattr(module, "steps_overlap", lambda _: True)
        monkeypatch.setattr(module, "relay_to_all", self._relay)
        monkeypatch.setattr(module, "is_on", lambda *_: self.is_on)
        monkeypatch.setattr(module, "switch_on", self._switch)

    def _relay(
        self, held: RunningAllocation, _: object, do: str, asked: Any, *__: object, verbose: bool
    ) -> Settled:
        assert (do, verbose) == ("settle", False)
        self.settled.append((held, asked))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def _switch(self, _: object, asked: SwitchOn) -> AutobackupSwitched:
        self.switched.append(asked)
        return STARTED

    def hold(self, nodes: str = "node-1", state: str = "RUNNING") -> int:
        return self.fake.add(job_name("test", "abc123"), nodes=nodes, state=state)

    def ready(self, *alias: str) -> MadeReady:
        return make_ready(self.host, MakeReady(alias=alias))


@pytest.fixture
def login(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Login:
    desk.backup()
    return Login(desk, monkeypatch)


def test_on_a_node_that_is_held_everything_is_made_sure_of(login: Login) -> None:
    job = login.hold()
    ready = login.ready("node-1")
    assert (ready.workspace, ready.autobackup) == (THERE, ON)
    assert ready.seen.allocation
    assert (ready.seen.allocation.job_id, ready.seen.allocation.node) == (job, "node-1")
    assert [(held.job_id, asked) for held, asked in login.settled] == [(job, Settle())]
    assert login.events == [Progress(phase=PHASE_WORKSPACE)]
    assert login.switched == []


def test_slurm_is_asked_once_for_the_jobs(login: Login, monkeypatch: pytest.MonkeyPatch) -> None:
    login.hold()
    asked: list[list[str]] = []

    def run(argv: Any, timeout_s: float) -> Any:
        asked.append(list(argv))
        return login.fake(argv, timeout_s)

    monkeypatch.setattr(LoginHost, "slurm", Slurm(run, "alice", "login"))
    login.ready("node-1")
    assert [argv[0] for argv in asked] == ["squeue"]


@pytest.mark.parametrize(
    ("nodes", "state", "alias"),
    [
        ("node-1", "PENDING", ("node-1",)),
        ("node-1", "SUSPENDED", ("node-1",)),
        ("node-1", "RUNNING", ("node-2",)),
        ("node-1", "RUNNING", ()),
        ("node-[1-2]", "RUNNING", ("node-1",)),
        ("node-1", "RUNNING", ("node-1", "node-2")),
    ],
)
def test_without_a_node_that_the_alias_leads_to_there_is_a_look_alone(
    login: Login, nodes: str, state: str, alias: tuple[str, ...]
) -> None:
    login.hold(nodes, state)
    ready = login.ready(*alias)
    assert (ready.workspace, ready.autobackup, login.settled) == (None, None, [])
    assert ready.seen.allocation


def test_who_has_no_alias_needs_none(login: Login) -> None:
    login.hold("node-[1-2]")
    assert make_ready(login.host, MakeReady(alias=None)).workspace == THERE


def test_with_no_job_there_is_a_look_alone(login: Login) -> None:
    ready = login.ready("node-1")
    assert (ready.seen.allocation, ready.workspace) == (None, None)


def test_with_the_store_away_the_node_is_not_asked(
    login: Login, monkeypatch: pytest.MonkeyPatch
) -> None:
    login.hold()
    lost = StoreLost(store="/fsx", state="is empty", host="login", note="x")
    monkeypatch.setattr(module, "store_lost", lambda *_: lost)
    assert login.ready("node-1").workspace is None
    assert login.settled == []


def test_an_auto_backup_that_does_not_run_is_started_after_the_workspace_is_there(
    login: Login,
) -> None:
    job = login.hold()
    login.is_on = None
    assert login.ready("node-1").autobackup == STARTED
    assert login.switched == [SwitchOn(job_id=job)]
    login.answer = TargetNotEmpty(target="/scratch/u/work")
    with pytest.raises(TargetNotEmpty):
        login.ready("node-1")
    assert len(login.switched) == 1


def test_the_job_is_noted_as_the_one_that_is_worked_in(login: Login) -> None:
    job = login.hold()
    login.ready("node-1")
    note = login.host.home / ".local/share/scratchflow/current/test"
    assert note.read_text() == f"{job}\n"
