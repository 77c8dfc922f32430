"""`jobs rerun`: exactly the same again, or only what failed."""

from __future__ import annotations

import pytest

from scratchflow.login.jobs.list import show_job
from scratchflow.login.jobs.rerun import rerun_job
from scratchflow.login.jobs.submit import submit
from scratchflow.model.errors.jobs import JobNotReady
from scratchflow.model.events import Log
from scratchflow.model.job import JobRecord, SlurmRecord, SlurmTask
from scratchflow.model.requests import OneJob, RerunJob, Submit
from scratchflow.store.jobs.records import job_directory, read_job, write_slurm
from tests.unit.login.jobs.conftest import Cluster


def record(cluster: Cluster, job: str) -> JobRecord:
    found = read_job(cluster.desk.place, job)
    assert found is not None
    return found


def test_the_snapshot_command_and_resources_are_those_of_the_first(cluster: Cluster) -> None:
    first = submit(cluster.login, Submit(command=("true",), tags=("x",), collect=("*.pt",)))
    cluster.desk.write("work/README", "changed since")
    cluster.desk.backup()
    again = rerun_job(cluster.login, RerunJob(wanted=str(first.number), slurm={"mem": "3G"}))
    one, two = record(cluster, first.job), record(cluster, again.job)
    assert (two.snapshot, two.command) == (one.snapshot, one.command)
    assert (two.tags, two.collect, two.rerun_of) == (one.tags, one.collect, one.id)
    assert two.slurm == {**one.slurm, "mem": "3G"}
    assert two.number == again.number != one.number
    shown = show_job(cluster.login, OneJob(wanted=again.job)).job
    assert (shown.rerun_of, shown.rerun_of_number) == (one.id, first.number)


def test_a_script_keeps_its_lines(cluster: Cluster) -> None:
    first = submit(cluster.login, Submit(script="job.sh"))
    again = rerun_job(cluster.login, RerunJob(wanted=first.job))
    lines = job_directory(cluster.desk.place, again.job).script.read_text()
    assert "#SBATCH --mem=1G\n" in lines


def test_what_the_lines_of_a_script_ask_for_is_shown_with_the_rest(cluster: Cluster) -> None:
    foreseen = submit(cluster.login, Submit(script="job.sh", dry_run=True))
    assert foreseen.script_slurm == {"mem": "1G"}
    first = submit(cluster.login, Submit(script="job.sh"))
    again = rerun_job(cluster.login, RerunJob(wanted=first.job, slurm={"mem": "3G"}))
    shown = [show_job(cluster.login, OneJob(wanted=one.job)).job for one in (first, again)]
    assert [(one.slurm["mem"], one.slurm["time"]) for one in shown] == [
        ("1G", "5:00"),
        ("3G", "5:00"),
    ]
    assert (record(cluster, first.job).slurm["mem"], record(cluster, again.job).script_slurm) == (
        "",
        {},
    )


def test_one_that_is_held_again_is_told_with_what_lets_it_start(cluster: Cluster) -> None:
    first = submit(cluster.login, Submit(command=("true",), sbatch=("-H",)))
    cluster.said.clear()
    again = rerun_job(cluster.login, RerunJob(wanted=first.job))
    (said,) = [event.message for event in cluster.said if isinstance(event, Log)]
    assert f"`scontrol release {again.number}`" in said
    cluster.said.clear()
    submit(cluster.login, Submit(command=("true",)))
    assert cluster.said == []


def test_only_the_tasks_that_failed_are_run_again(cluster: Cluster) -> None:
    tasks = ({"k": 1}, {"k": 2}, {"k": 3})
    first = submit(cluster.login, Submit(command=("true",), tasks=tasks))
    cluster.fake.jobs.clear()
    states = {0: "COMPLETED", 1: "FAILED", 2: "TIMEOUT"}
    ends = {n: SlurmTask(task=n, job_id=n, state=state) for n, state in states.items()}
    write_slurm(cluster.desk.place, first.job, SlurmRecord(ends))
    planned = rerun_job(cluster.login, RerunJob(wanted=first.job, failed=True, dry_run=True))
    assert [(task.task, task.parameters) for task in planned.first] == [
        (1, {"k": 2}),
        (2, {"k": 3}),
    ]
    again = rerun_job(cluster.login, RerunJob(wanted=first.job, failed=True))
    assert record(cluster, again.job).chosen == [1, 2]
    assert record(cluster, again.job).tasks == list(tasks)
    assert "--array=1-2" in again.command
    with pytest.raises(JobNotReady, match=r"task 0 of job .* has not failed") as caught:
        rerun_job(cluster.login, RerunJob(wanted=f"{first.number}_0", failed=True))
    assert f"`scratchflow jobs rerun --failed {first.number}`" in caught.value.shown_hint


def test_without_a_failure_nothing_is_submitted(cluster: Cluster) -> None:
    first = submit(cluster.login, Submit(command=("true",)))
    cluster.fake.jobs[first.number or 0].state = "COMPLETED"
    with pytest.raises(JobNotReady, match="no task"):
        rerun_job(cluster.login, RerunJob(wanted=first.job, failed=True))


def test_the_code_may_be_another(cluster: Cluster) -> None:
    """The script's own lines are then those of the new code."""
    first = submit(cluster.login, Submit(script="job.sh"))
    cluster.desk.write("work/job.sh", "#!/bin/bash\n#SBATCH --mem=2G\ntrue\n")
    newest = cluster.desk.backup().snapshot or ""
    again = rerun_job(cluster.login, RerunJob(wanted=first.job, snapshot=newest))
    assert record(cluster, again.job).snapshot == again.snapshot == newest != first.snapshot
    assert "--mem=2G" in job_directory(cluster.desk.place, again.job).script.read_text()
    assert rerun_job(cluster.login, RerunJob(wanted=first.job, newest=True)).snapshot == newest
