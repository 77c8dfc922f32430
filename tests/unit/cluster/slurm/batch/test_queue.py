"""What `squeue` prints about submitted jobs, in lines written by hand; `tests/cluster/test_jobs.py` reads real ones."""

from __future__ import annotations

from scratchflow.cluster.slurm.batch.queue import number_of, queued_tasks, tasks_in
from tests.unit.cluster.slurm.conftest import Cluster

JOB = "20261115T093000Z-3f2a9c"
NAME = f"train:{JOB}"


def line(*fields: str) -> str:
    return "\x1f".join(fields)


def test_each_task_of_an_array_has_its_own_state() -> None:
    text = "\n".join(
        [
            line("13", "12", "0", "RUNNING", "alice", "dev", "n1", "1", "9", "None", NAME),
            line("12", "12", "1", "PENDING", "alice", "dev", "", "N/A", "N/A", "Resources", NAME),
        ]
    )
    first, second = tasks_in(text, "alice")
    assert (first.job, first.number, first.job_id, first.task) == (JOB, 12, 13, 0)
    assert (first.state, first.node, first.start, first.end) == ("RUNNING", "n1", 1, 9)
    assert (second.task, second.state, second.node, second.reason) == (
        1,
        "PENDING",
        "",
        "Resources",
    )


def test_tasks_that_were_cancelled_before_they_started_have_one_line_without_number_or_start() -> (
    None
):
    text = line("9", "9", "N/A", "CANCELLED", "alice", "dev", "", "5", "6", "JobHeldUser", NAME)
    (rest,) = tasks_in(text, "alice")
    assert (rest.number, rest.is_numbered, rest.start, rest.end) == (9, False, None, 6)


def test_other_jobs_and_torn_lines_are_passed_over() -> None:
    text = "\n".join(
        [
            line("1", "1", "N/A", "RUNNING", "bob", "d", "n", "1", "2", "None", NAME),
            line(
                "2", "2", "N/A", "RUNNING", "alice", "d", "n", "1", "2", "None", "scratchflow:p:a"
            ),
            "slurm: warning",
        ]
    )
    assert tasks_in(text, "alice") == []


def test_a_job_is_found_by_its_exact_name(cluster: Cluster) -> None:
    number = cluster.fake.add(NAME)
    assert number_of(cluster.slurm, NAME) == number
    assert number_of(cluster.slurm, f"other:{JOB}") is None
    assert [task.job for task in queued_tasks(cluster.slurm)] == [JOB]
