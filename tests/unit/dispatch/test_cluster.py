"""Where a verb is done, from each kind of machine; a path that means another place there is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow.config.settings import Asked
from scratchflow.dispatch import cluster as module
from scratchflow.dispatch import relay, where
from scratchflow.dispatch.cluster import Caller, Cluster, at_workspace, is_here, is_login_host
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import Event, Log
from scratchflow.model.requests import (
    FIRST,
    NOTHING,
    Arguments,
    Backup,
    Export,
    Nothing,
    OpenJobs,
    Restore,
    Where,
)
from scratchflow.model.results.base import Result
from scratchflow.model.results.snapshots import SnapshotsListed
from scratchflow.model.results.status import JobsShown
from scratchflow.reach import login
from scratchflow.ssh.transport.base import Transport
from scratchflow.ssh.transport.local import LocalTransport

ON_LOGIN_HOST: dict[str, str] = {}
IN_JOB = {"SLURMD_NODENAME": "node-1", "SLURM_JOB_ID": "7"}


class Trail:
    """Notes which way each thing goes, instead of going it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.went: list[Any] = []
        self.opened = 0
        self._config = tmp_path / "config.toml"
        monkeypatch.setattr(module, "do_here", self._here)
        monkeypatch.setattr(relay, "relay", self._relay)
        monkeypatch.setattr(login, "reach_login", self._reach)
        monkeypatch.setattr(login, "ask_agent", self._ask)
        monkeypatch.setattr(where, "is_job_of", lambda _, job_id, __: job_id == 7)

    def from_machine(
        self, environment: dict[str, str], *, login: str = "aws", scheduler: str = "slurm"
    ) -> Cluster:
        self._config.write_text(f'[profiles.p]\nlogin = "{login}"\nscheduler = "{scheduler}"\n')
        caller = Caller(asked=Asked(config=str(self._config)), environment=environment)
        return Cluster(caller.settings(), caller, lambda _: None, ExitStack())

    def _here(self, do: str, *_: object, **__: object) -> Result:
        self.went.append(("here", do))
        return _result(do)

    def _relay(self, _: object, do: str, *__: object, where: Where, **___: object) -> Result:
        self.went.append(("step", do, where.job_id))
        return _result(do)

    @contextmanager
    def _reach(self, *_: object, **__: object) -> Iterator[Transport]:
        self.opened += 1
        yield LocalTransport()

    def _ask(
        self, _: object, __: object, do: str, *___: object, on_node: bool, **____: object
    ) -> Any:
        self.went.append(("agent", do, on_node))
        return msgspec.to_builtins(_result(do))


def _result(do: str) -> Result:
    return JobsShown(jobs=[]) if do == "jobs open" else SnapshotsListed(snapshots=[])


@pytest.fixture
def trail(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Trail:
    return Trail(monkeypatch, tmp_path)


def list_on(cluster: Cluster) -> None:
    cluster.at_workspace("snapshots list", NOTHING, SnapshotsListed)


def save_on(cluster: Cluster, **options: Any) -> None:
    cluster._done_at_workspace("backup", Backup(), Where(options.get("job_id")), cluster.emit, None)


def test_a_laptop_asks_the_agent_over_one_connection(trail: Trail) -> None:
    laptop = trail.from_machine({})
    laptop.on_login("jobs open", OpenJobs(), JobsShown)
    list_on(laptop)
    assert trail.went == [("agent", "jobs open", False), ("agent", "snapshots list", False)]
    assert trail.opened == 1


def test_a_login_host_does_its_own_part_and_sends_the_nodes_on(trail: Trail) -> None:
    login_host = trail.from_machine(ON_LOGIN_HOST, login="local")
    login_host.on_login("jobs open", OpenJobs(), JobsShown)
    list_on(login_host)
    save_on(login_host, job_id=9)
    assert trail.went == [("here", "jobs open"), ("here", "snapshots list"), ("step", "backup", 9)]


def test_in_the_job_it_is_done_here_but_not_for_another_job(trail: Trail) -> None:
    node = trail.from_machine(IN_JOB)
    save_on(node)
    save_on(node, job_id=7)
    save_on(node, job_id=8)
    assert trail.went == [("here", "backup"), ("here", "backup"), ("step", "backup", 8)]


def test_in_a_job_of_somebody_elses_the_scratch_is_not_the_one_that_is_meant(trail: Trail) -> None:
    node = trail.from_machine({**IN_JOB, "SLURM_JOB_ID": "5"})
    save_on(node)
    assert trail.went == [("step", "backup", None)]


def test_without_a_scheduler_everything_is_here(trail: Trail) -> None:
    one = trail.from_machine({}, scheduler="none")
    save_on(one)
    assert trail.went == [("here", "backup")]
    assert is_login_host(one.settings, {})
    assert is_here(one.settings, {}, job_id=8)


@pytest.mark.parametrize(
    ("do", "request_"),
    [
        ("restore", Restore(to="there")),
        ("restore", Restore(source="./a.tar")),
        ("snapshots export", Export(file="a.tar")),
    ],
)
def test_a_relative_path_is_refused_where_it_would_mean_another_place(
    trail: Trail, do: str, request_: Arguments
) -> None:
    for cluster in (trail.from_machine({}), trail.from_machine(ON_LOGIN_HOST, login="local")):
        with pytest.raises(UsageInvalid, match="in full"):
            cluster._done_at_workspace(do, request_, FIRST, cluster.emit, None)
    assert trail.went == []
    there = trail.from_machine(IN_JOB)
    there._done_at_workspace(do, request_, FIRST, there.emit, None)
    assert trail.went == [("here", do)]


def test_arguments_of_another_operation_are_a_mistake_everywhere(trail: Trail) -> None:
    for environment in ({}, IN_JOB):
        cluster = trail.from_machine(environment)
        with pytest.raises(TypeError):
            cluster._done_at_workspace("backup", Nothing(), FIRST, cluster.emit, None)
    assert trail.went == []


def test_without_a_file_it_is_said_which_profile_is_used(
    trail: Trail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    said: list[Event] = []
    at_workspace("snapshots list", NOTHING, Caller(Asked(), {}), said.append)
    assert trail.went == [("here", "snapshots list")]
    (remark,) = said
    assert isinstance(remark, Log)
    assert "built-in profile `local`" in remark.message


@pytest.mark.parametrize("remembers", [True, False])
def test_a_dry_run_keeps_nothing_of_the_answers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, remembers: bool
) -> None:
    kept: list[Result] = []
    monkeypatch.setattr(module, "note", lambda _, done: kept.append(done))
    caller = Trail(monkeypatch, tmp_path).from_machine({}).caller
    settings = caller.settings()
    with module.cluster_of(settings, caller, lambda _: None, remembers=remembers) as cluster:
        cluster.on_login("jobs open", OpenJobs(), JobsShown)
        cluster.at_workspace("snapshots list", NOTHING, SnapshotsListed)
    assert len(kept) == 2 * remembers
