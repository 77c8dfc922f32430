"""What the records and Slurm say together; a job that dies without a word is completed from Slurm."""

from __future__ import annotations

import time

import msgspec
import pytest

from scratchflow.login.jobs import look as module
from scratchflow.login.jobs.look import Looked, look_at
from scratchflow.login.jobs.submit import submit
from scratchflow.model.errors.jobs import JobInDoubt
from scratchflow.model.job import TaskRecord
from scratchflow.model.requests import Submit
from scratchflow.model.times import epoch
from scratchflow.store.jobs.records import (
    job_directory,
    read_job,
    read_jobs,
    read_slurm,
    write_job,
    write_task,
)
from tests.unit.login.jobs.conftest import Cluster

CMD = Submit(command=("true",))
ENDED = TaskRecord(task=0, job_id=1, node="node-1", phase="ended", start="", code=0)


LINE = "{number}|{number}|alice|OUT_OF_MEMORY|0:125|{start}|2|n1||00:01|4G|None|{name}\n"
# Accounting that has not heard of any job of ours.
LAGS = {0: ""}


def look(cluster: Cluster, *, in_full: bool = True) -> Looked:
    place = cluster.desk.place
    return look_at(cluster.login, place, read_jobs(place), in_full=in_full)[-1]


def test_an_end_that_slurm_told_once_stays_known(cluster: Cluster) -> None:
    done = submit(cluster.login, CMD)
    assert look(cluster).state(0) == "RUNNING"
    cluster.fake.jobs[done.number or 0].state = "NODE_FAIL"
    assert look(cluster).state(0) == "NODE_FAIL"
    cluster.fake.jobs.clear()
    assert look(cluster).state(0) == "NODE_FAIL"


def test_the_end_of_a_later_run_replaces_that_of_one_which_nobody_saw_requeued(
    cluster: Cluster,
) -> None:
    """It died before it could write down that it runs again."""
    done = submit(cluster.login, CMD)
    job = cluster.fake.jobs[done.number or 0]
    job.state, job.start = "TIMEOUT", int(time.time())
    cluster.fake.accounted = LAGS
    first = look(cluster, in_full=False).slurm.tasks[0]
    job.start += 60
    later = look(cluster, in_full=False).slurm.tasks[0]
    assert (first.state, later.state) == ("TIMEOUT", "TIMEOUT")
    assert (epoch(later.start), epoch(later.end)) == (job.start, job.start + 300)


def test_another_job_of_the_same_name_changes_nothing(cluster: Cluster) -> None:
    done = submit(cluster.login, CMD)
    number = done.number or 0
    cluster.fake.jobs[number].state = "COMPLETED"
    assert look(cluster).state(0) == "COMPLETED"
    namesake = cluster.fake.jobs.pop(number)
    namesake.state = "PENDING"
    cluster.fake.jobs[number + 100] = msgspec.structs.replace(namesake, job_id=number + 100)
    assert look(cluster).state(0) == "COMPLETED"


def test_what_a_job_was_asked_stays_as_long_as_slurm_can_requeue_it(cluster: Cluster) -> None:
    done = submit(cluster.login, CMD)
    request = job_directory(cluster.desk.place, done.job).request
    cluster.fake.jobs[done.number or 0].state = "COMPLETED"
    look(cluster)
    assert request.exists()
    cluster.fake.jobs.clear()
    look(cluster)
    assert not request.exists()


def test_accounting_completes_what_slurmctld_has_forgotten(cluster: Cluster) -> None:
    done = submit(cluster.login, CMD)
    number, name = done.number or 0, f"true:{done.job}"
    cluster.fake.jobs.clear()
    cluster.fake.accounted = {number: LINE.format(number=number, name=name, start=1)}
    assert look(cluster).state(0) == "OUT_OF_MEMORY"
    assert read_slurm(cluster.desk.place, done.job).tasks[0].asked_memory == "4G"


def test_what_accounting_says_later_completes_what_squeue_said(cluster: Cluster) -> None:
    done = submit(cluster.login, CMD)
    number, name = done.number or 0, f"true:{done.job}"
    job = cluster.fake.jobs[number]
    job.state, job.start = "FAILED", int(time.time())
    cluster.fake.accounted = LAGS
    assert look(cluster).state(0) == "FAILED"
    cluster.fake.accounted = {number: LINE.format(number=number, name=name, start=job.start)}
    assert look(cluster).state(0) == "OUT_OF_MEMORY"
    cluster.fake.asked.clear()
    assert look(cluster).slurm.tasks[0].accounted
    assert [argv[0] for argv in cluster.fake.asked] == ["squeue"]


def test_a_list_asks_accounting_only_about_what_squeue_does_not_tell(cluster: Cluster) -> None:
    done = submit(cluster.login, CMD)
    number, name = done.number or 0, f"true:{done.job}"
    job = cluster.fake.jobs[number]
    job.start = int(time.time())
    line = LINE.format(number=number, name=name, start=job.start)
    cluster.fake.accounted = {number: line.replace("OUT_OF_MEMORY", "COMPLETED")}
    job.state = "COMPLETED"
    cluster.fake.asked.clear()
    assert look(cluster, in_full=False).state(0) == "COMPLETED"
    assert [argv[0] for argv in cluster.fake.asked] == ["squeue"]
    cluster.fake.jobs.clear()
    assert look(cluster, in_full=False).slurm.tasks[0].cpu_s == 1
    cluster.fake.jobs[number] = job
    other = submit(cluster.login, CMD)
    cluster.fake.jobs[other.number or 0].state = "FAILED"
    cluster.fake.asked.clear()
    look(cluster, in_full=False)
    assert "sacct" in [argv[0] for argv in cluster.fake.asked]


def test_without_accounting_an_end_that_squeue_told_is_not_asked_for_again(
    cluster: Cluster,
) -> None:
    done = submit(cluster.login, CMD)
    job = cluster.fake.jobs[done.number or 0]
    job.state, job.start = "COMPLETED", int(time.time())
    look(cluster, in_full=False)
    cluster.fake.jobs.clear()
    for _ in range(2):
        cluster.fake.asked.clear()
        assert look(cluster, in_full=False).state(0) == "COMPLETED"
    assert [argv[0] for argv in cluster.fake.asked] == ["squeue"]


def test_a_full_look_is_told_what_accounting_says_days_later(cluster: Cluster) -> None:
    done = submit(cluster.login, CMD)
    number, name = done.number or 0, f"true:{done.job}"
    job = cluster.fake.jobs[number]
    job.state, job.start = "COMPLETED", 1000
    cluster.fake.accounted = {number: LINE.format(number=number, name=name, start=1000)}
    look(cluster, in_full=False)
    cluster.fake.jobs.clear()
    assert look(cluster, in_full=False).slurm.tasks[0].cpu_s is None
    assert look(cluster).slurm.tasks[0].cpu_s == 1


def test_accounting_that_has_only_the_run_before_is_not_believed(cluster: Cluster) -> None:
    done = submit(cluster.login, CMD)
    number, name = done.number or 0, f"true:{done.job}"
    job = cluster.fake.jobs[number]
    job.state, job.start = "FAILED", int(time.time())
    earlier = LINE.format(number=number, name=name, start=job.start - 60)
    cluster.fake.accounted = {number: earlier}
    assert look(cluster).state(0) == "FAILED"


def test_an_end_of_an_earlier_run_is_not_taken_for_that_of_the_last(cluster: Cluster) -> None:
    done = submit(cluster.login, CMD)
    cluster.fake.jobs[done.number or 0].state = "NODE_FAIL"
    look(cluster)
    cluster.fake.jobs.clear()
    again = msgspec.structs.replace(ENDED, restarts=1)
    write_task(cluster.desk.place, done.job, again)
    assert look(cluster).state(0) == "COMPLETED"


def test_slurm_is_not_asked_for_ever_about_what_it_has_forgotten(cluster: Cluster) -> None:
    done = submit(cluster.login, CMD)
    cluster.fake.jobs.clear()
    record = read_job(cluster.desk.place, done.job)
    assert record is not None
    old = msgspec.structs.replace(record, time="2020-01-01T00:00:00Z")
    write_job(cluster.desk.place, old)
    for _ in range(2):
        cluster.fake.asked.clear()
        assert look(cluster).state(0) == "FORGOTTEN"
    assert [argv[0] for argv in cluster.fake.asked] == ["squeue"]


@pytest.mark.parametrize(("code", "state"), [(0, "COMPLETED"), (3, "FAILED")])
def test_without_slurms_word_the_tasks_own_counts(cluster: Cluster, code: int, state: str) -> None:
    done = submit(cluster.login, CMD)
    cluster.fake.jobs.clear()
    assert look(cluster).state(0) == "FORGOTTEN"
    write_task(cluster.desk.place, done.job, msgspec.structs.replace(ENDED, code=code))
    assert look(cluster).state(0) == state


def test_a_lost_answer_is_found_by_name_and_written_down(cluster: Cluster) -> None:
    done = submit(cluster.login, CMD)
    record = read_job(cluster.desk.place, done.job)
    assert record is not None
    write_job(cluster.desk.place, msgspec.structs.replace(record, number=None))
    assert look(cluster).record.number == done.number
    assert read_job(cluster.desk.place, done.job) == record


def test_an_order_that_never_came_is_told_so_after_a_while(cluster: Cluster) -> None:
    cluster.fake.sbatch = "loses the order"
    with pytest.raises(JobInDoubt):
        submit(cluster.login, CMD)
    assert look(cluster).state(0) == "SUBMITTING"
    (record,) = read_jobs(cluster.desk.place)
    old = msgspec.structs.replace(record, time="2020-01-01T00:00:00Z")
    write_job(cluster.desk.place, old)
    assert look(cluster).state(0) == "NOT_SUBMITTED"


def test_one_question_for_all_jobs_and_none_for_ends_that_are_known(cluster: Cluster) -> None:
    for _ in range(3):
        done = submit(cluster.login, CMD)
        cluster.fake.jobs[done.number or 0].state = "COMPLETED"
    look(cluster)
    cluster.fake.asked.clear()
    look(cluster)
    assert [argv[0] for argv in cluster.fake.asked] == ["squeue"]


def test_while_slurm_is_away_the_records_are_shown_and_nothing_is_written(
    cluster: Cluster,
) -> None:
    done = submit(cluster.login, CMD)
    cluster.fake.up = False
    assert look(cluster).state(0) == "UNKNOWN"
    assert read_slurm(cluster.desk.place, done.job).tasks == {}
    assert job_directory(cluster.desk.place, done.job).request.exists()


def test_a_requeued_task_is_open_again(cluster: Cluster) -> None:
    done = submit(cluster.login, CMD)
    job = cluster.fake.jobs[done.number or 0]
    job.state = "NODE_FAIL"
    look(cluster)
    job.state = "RUNNING"
    assert look(cluster).state(0) == "RUNNING"
    assert not look(cluster).is_over


def test_a_record_that_an_old_listing_hides_is_read_before_anybody_says_there_is_none(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As NFS shows it to a host that listed the directory before the job began."""
    done = submit(cluster.login, CMD)
    job = cluster.fake.jobs[done.number or 0]
    job.state, job.nodes, job.start = "FAILED", "node-1", int(time.time()) - 300
    monkeypatch.setattr(
        module, "forget_listing", lambda _: write_task(cluster.desk.place, done.job, ENDED)
    )
    assert look(cluster).tasks == {0: ENDED}


def test_a_reason_that_accounting_does_not_have_is_kept(cluster: Cluster) -> None:
    done = submit(cluster.login, CMD)
    job = cluster.fake.jobs[done.number or 0]
    job.state, job.reason, job.start = "FAILED", "BadConstraints", 1
    line = f"{job.job_id}|{job.job_id}|alice|FAILED|1:0|1|2|||00:00|4G|None|{job.name}\n"
    cluster.fake.accounted = {job.job_id: line}
    said = look(cluster).slurm.tasks[0]
    assert (said.accounted, said.code, said.reason) == (True, 1, "BadConstraints")


def test_who_cancelled_it_is_noted_though_accounting_did_not_know_it_at_first(
    cluster: Cluster,
) -> None:
    done = submit(cluster.login, CMD)
    number, ended = done.number or 0, int(time.time()) - 300
    cluster.fake.jobs.clear()
    fields = f"0:0|{ended - 9}|{ended}|n1||00:01|4G|None|true:{done.job}\n"
    cluster.fake.accounted = {number: f"{number}|{number}|alice|CANCELLED|{fields}"}
    said = look(cluster, in_full=False).slurm.tasks[0]
    assert (said.state, said.cpu_s, said.cancelled_by) == ("CANCELLED", 1, "")
    cluster.fake.accounted = {number: f"{number}|{number}|alice|CANCELLED by 0|{fields}"}
    assert look(cluster, in_full=False).slurm.tasks[0].cancelled_by == "root"
    cluster.fake.asked.clear()
    look(cluster)
    assert [argv[0] for argv in cluster.fake.asked] == ["squeue"]


def test_tasks_that_were_cancelled_before_they_started_share_one_line_of_slurm(
    cluster: Cluster,
) -> None:
    tasks = ({"k": 1}, {"k": 2}, {"k": 3})
    done = submit(cluster.login, msgspec.structs.replace(CMD, tasks=tasks))
    began = msgspec.structs.replace(ENDED, task=1, job_id=7)
    write_task(cluster.desk.place, done.job, began)
    job = cluster.fake.jobs[done.number or 0]
    job.state, job.nodes = "CANCELLED", ""
    assert [look(cluster).state(task) for task in range(3)] == [
        "CANCELLED",
        "COMPLETED",
        "CANCELLED",
    ]
    cluster.fake.jobs.clear()
    assert [look(cluster).state(task) for task in range(3)] == [
        "CANCELLED",
        "COMPLETED",
        "CANCELLED",
    ]
