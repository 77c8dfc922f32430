"""`jobs debug` takes the failed task to the node that is held, and opens a shell there."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from scratchflow.flows.jobs import debug as module
from scratchflow.flows.jobs.debug import chosen_task, debug
from scratchflow.flows.run.start import Wanted
from scratchflow.model.requests import DebugTask
from scratchflow.model.results.jobs import DebugReady, JobInspected, TaskShown
from scratchflow.model.results.run import RunEnded
from tests.unit.flows.jobs.test_code import JOB
from tests.unit.flows.told import ToldCluster, give

TASKS = [
    TaskShown(task=0, job_id=7, state="COMPLETED"),
    TaskShown(task=1, job_id=8, state="FAILED"),
    TaskShown(task=2, job_id=9, state="TIMEOUT"),
]
READY = DebugReady(
    job="j",
    task=1,
    directory="/scratch/debug/j-1/work",
    command="python train.py",
    script="/x/debug.sh",
    bashrc="/x/debug.bashrc",
)


def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: int | None = None) -> ToldCluster:
    job = msgspec.structs.replace(JOB, tasks=TASKS)
    answers = {"jobs show": JobInspected(job=job, task=task), "job debug": READY}
    return give(monkeypatch, module, ToldCluster(tmp_path, answers))


def test_the_first_failed_task_is_taken_unless_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = made(tmp_path, monkeypatch)
    assert debug(cluster.caller, cluster.emit, "7", opens_shell=False) == READY
    assert cluster.asked[-1][:2] == ("job debug", DebugTask(job="j", task=1))
    cluster = made(tmp_path, monkeypatch, task=2)
    debug(cluster.caller, cluster.emit, "7_2", opens_shell=False)
    assert cluster.asked[-1][1] == DebugTask(job="j", task=2)
    assert chosen_task(msgspec.structs.replace(JOB, tasks=TASKS[:1])) == 0


def test_the_shell_is_bash_with_the_command_in_its_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = made(tmp_path, monkeypatch)
    ran: list[Wanted] = []

    def run(_: object, __: object, wanted: Wanted) -> RunEnded:
        ran.append(wanted)
        return RunEnded(node="n", job_id=1, code=3)

    monkeypatch.setattr(module, "run", run)
    assert debug(cluster.caller, cluster.emit, "7", opens_shell=True).exit_code() == 3
    assert ran == [
        Wanted(command=("bash", "--rcfile", READY.bashrc, "-i"), cwd=READY.directory, terminal=True)
    ]
