"""`submit` runs from the workspace as it is now, or says that it does not."""

from __future__ import annotations

import signal
from pathlib import Path

import msgspec
import pytest

from scratchflow.flows.jobs import submit as module
from scratchflow.flows.jobs.submit import rerun_current, submit
from scratchflow.model.errors.allocation import AllocationMissing
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.errors.config import SchedulerMissing
from scratchflow.model.errors.jobs import JobInDoubt, SubmitCutShort
from scratchflow.model.errors.ssh import ConnectionLost
from scratchflow.model.events import Log
from scratchflow.model.job import GitState
from scratchflow.model.requests import Freeze, RerunJob, Submit
from scratchflow.model.results.jobs import Frozen, Submitted
from scratchflow.process.interrupted import Interrupted
from tests.unit.flows.told import ToldCluster, give

GIT = GitState(commit="c0ffee", branch="main", dirty=True)
FROZEN = Frozen(snapshot="s1", changed_files=1, changed_bytes=1, duration_s=0.1, git=GIT)
DONE = Submitted(job="j", number=7, name="n", tasks=1, snapshot="s1")


def test_the_job_gets_the_snapshot_that_was_just_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = give(monkeypatch, module, ToldCluster(tmp_path, {"freeze": FROZEN, "submit": DONE}))
    done = submit(cluster.caller, cluster.emit, Submit(command=("x",)))
    assert done.is_current
    assert cluster.asked[-1][1] == Submit(command=("x",), snapshot="s1", git=GIT)


def test_a_dry_run_goes_by_what_the_real_one_saves_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen = Frozen(
        snapshot=None, changed_files=1, changed_bytes=1, duration_s=0.1, script="#!/bin/sh"
    )
    cluster = give(monkeypatch, module, ToldCluster(tmp_path, {"freeze": frozen, "submit": DONE}))
    asked = Submit(script="run.sh", directory="src", dry_run=True)
    done = submit(cluster.caller, cluster.emit, asked)
    assert done.saves_first
    (_, frozen_for, _), (_, sent, _) = cluster.asked
    assert frozen_for == Freeze(dry_run=True, script="run.sh", directory="src")
    assert sent == msgspec.structs.replace(asked, unsaved_script="#!/bin/sh")


@pytest.mark.parametrize("name", ["6", "6_1", "last", "last_2", " last "])
def test_a_name_that_means_another_job_is_refused_before_anything_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    cluster = give(monkeypatch, module, ToldCluster(tmp_path, {"freeze": FROZEN, "submit": DONE}))
    with pytest.raises(UsageInvalid, match=f"cannot be named `{name}`"):
        submit(cluster.caller, cluster.emit, Submit(command=("x",), name=name))
    assert cluster.done == []


@pytest.mark.parametrize("name", ["", "run-6", "6a", "v1_2", "lasting"])
def test_any_other_name_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    cluster = give(monkeypatch, module, ToldCluster(tmp_path, {"freeze": FROZEN, "submit": DONE}))
    submit(cluster.caller, cluster.emit, Submit(command=("6",), name=name))
    assert cluster.done == ["freeze", "submit"]


def test_a_connection_that_is_lost_meanwhile_leaves_the_job_in_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = ConnectionLost(host="login", reason="it closed the connection")
    answers = {"freeze": FROZEN, "submit": lost, "jobs rerun": lost}
    cluster = give(monkeypatch, module, ToldCluster(tmp_path, answers))
    with pytest.raises(JobInDoubt, match=r"`python train\.py` is not known: no connection"):
        submit(cluster.caller, cluster.emit, Submit(command=("python", "train.py")))
    with pytest.raises(JobInDoubt, match="`night` is not known"):
        submit(cluster.caller, cluster.emit, Submit(command=("x",), name="night"))
    with pytest.raises(JobInDoubt, match="`41` is not known"):
        rerun_current(cluster.caller, cluster.emit, RerunJob(wanted="41"))
    with pytest.raises(ConnectionLost):
        submit(cluster.caller, cluster.emit, Submit(command=("x",), dry_run=True))


def test_without_a_node_the_login_host_takes_the_newest_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"freeze": AllocationMissing(profile="p"), "submit": DONE}
    cluster = give(monkeypatch, module, ToldCluster(tmp_path, answers))
    done = submit(cluster.caller, cluster.emit, Submit(command=("x",)))
    assert not done.is_current
    assert cluster.asked[-1][1] == Submit(command=("x",))
    (said,) = [event.message for event in cluster.told if isinstance(event, Log)]
    assert "newest snapshot" in said


def test_without_a_scheduler_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = ToldCluster(tmp_path, {}, profile='scheduler = "none"')
    cluster = give(monkeypatch, module, alone)
    with pytest.raises(SchedulerMissing):
        submit(cluster.caller, cluster.emit, Submit(command=("x",)))
    assert cluster.asked == []


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_cut_short_while_slurm_is_asked_it_does_not_call_itself_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signum: int
) -> None:
    answers = {"freeze": FROZEN, "submit": Interrupted(signum)}
    cluster = give(monkeypatch, module, ToldCluster(tmp_path, answers))
    with pytest.raises(SubmitCutShort, match="Slurm may have the job") as caught:
        submit(cluster.caller, cluster.emit, Submit(command=("x",)))
    assert (caught.value.exit_code, caught.value.retryable) == (128 + signum, False)
    assert "there may be two" in caught.value.shown_hint


def test_a_job_is_run_again_from_the_workspace_as_it_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"freeze": [FROZEN, AllocationMissing(profile="p")], "jobs rerun": DONE}
    cluster = give(monkeypatch, module, ToldCluster(tmp_path, answers))
    asked = RerunJob(wanted="7", failed=True)
    assert rerun_current(cluster.caller, cluster.emit, asked).is_current
    assert cluster.asked[-1][1] == RerunJob(wanted="7", failed=True, snapshot="s1", git=GIT)
    assert not rerun_current(cluster.caller, cluster.emit, asked).is_current
    assert cluster.asked[-1][1] == RerunJob(wanted="7", failed=True, newest=True)
