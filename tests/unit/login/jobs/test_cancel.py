"""`cancel` ends what was meant, and nothing that has ended or is somebody else's."""

from __future__ import annotations

import pytest

from scratchflow.login.jobs.cancel import cancel_jobs
from scratchflow.login.jobs.submit import submit
from scratchflow.model.errors.jobs import JobMissing, JobNotReady
from scratchflow.model.errors.slurm import SlurmUnreachable
from scratchflow.model.requests import CancelJobs, Submit
from scratchflow.store.jobs.records import read_slurm
from tests.unit.login.jobs.conftest import Cluster


def run(cluster: Cluster, *tags: str) -> int:
    return submit(cluster.login, Submit(command=("true",), tags=tags)).number or 0


def states(cluster: Cluster) -> list[str]:
    return [job.state for job in cluster.fake.jobs.values()]


def test_one_is_cancelled_by_its_number(cluster: Cluster) -> None:
    number, other = run(cluster), run(cluster)
    done = cancel_jobs(cluster.login, CancelJobs(wanted=(str(number),)))
    assert (done.cancelled, done.names) == ([str(number)], ["true"])
    assert cluster.fake.jobs[number].state == "CANCELLED"
    assert cluster.fake.jobs[other].state != "CANCELLED"


def test_one_that_is_named_twice_is_cancelled_once(cluster: Cluster) -> None:
    number = run(cluster)
    done = cancel_jobs(cluster.login, CancelJobs(wanted=(str(number), "last")))
    assert done.cancelled == [str(number)]


def test_all_open_ones_or_those_with_a_tag(cluster: Cluster) -> None:
    tagged, other = run(cluster, "x"), run(cluster)
    holds = cluster.fake.add("scratchflow:test:abc")
    done = cancel_jobs(cluster.login, CancelJobs(tag="x"))
    assert done.cancelled == [str(tagged)]
    assert cancel_jobs(cluster.login, CancelJobs(mine=True)).cancelled == [str(other)]
    assert cluster.fake.jobs[holds].state == "RUNNING"


def test_a_dry_run_cancels_nothing(cluster: Cluster) -> None:
    number = run(cluster)
    before = states(cluster)
    done = cancel_jobs(cluster.login, CancelJobs(mine=True, dry_run=True))
    assert (done.cancelled, states(cluster)) == ([str(number)], before)


def test_what_has_ended_or_is_no_job_of_ours_is_told(cluster: Cluster) -> None:
    number = run(cluster)
    cluster.fake.jobs[number].state = "COMPLETED"
    with pytest.raises(JobNotReady, match="has ended already"):
        cancel_jobs(cluster.login, CancelJobs(wanted=(str(number),)))
    holds = cluster.fake.add("scratchflow:test:abc")
    with pytest.raises(JobMissing):
        cancel_jobs(cluster.login, CancelJobs(wanted=(str(holds),)))


def test_while_slurm_is_away_nothing_is_said_to_be_cancelled(cluster: Cluster) -> None:
    number = run(cluster)
    cluster.fake.up = False
    with pytest.raises(SlurmUnreachable):
        cancel_jobs(cluster.login, CancelJobs(wanted=(str(number),)))


def test_a_name_means_the_one_open_job_that_has_it(cluster: Cluster) -> None:
    ended, still_open = run(cluster), run(cluster)
    cluster.fake.jobs[ended].state = "COMPLETED"
    assert cancel_jobs(cluster.login, CancelJobs(wanted=("true",))).cancelled == [str(still_open)]
    with pytest.raises(JobNotReady, match="has ended already"):
        cancel_jobs(cluster.login, CancelJobs(wanted=("true",)))


def test_a_name_of_several_open_jobs_is_refused_with_their_numbers(cluster: Cluster) -> None:
    first, second = run(cluster), run(cluster)
    before = states(cluster)
    with pytest.raises(JobNotReady, match=f"2 open jobs are named `true`: {first}, {second}") as no:
        cancel_jobs(cluster.login, CancelJobs(wanted=("true",)))
    assert f"`scratchflow cancel {first} {second}`" in no.value.shown_hint
    assert states(cluster) == before


def test_the_end_of_what_never_started_is_noted_before_slurm_forgets_it(cluster: Cluster) -> None:
    tasks = ({"k": 1}, {"k": 2})
    done = submit(cluster.login, Submit(command=("true",), tasks=tasks))
    job = cluster.fake.jobs[done.number or 0]
    job.state, job.nodes = "PENDING", ""
    cancel_jobs(cluster.login, CancelJobs(wanted=(str(done.number),)))
    noted = read_slurm(cluster.desk.place, done.job).tasks
    assert [one.state for one in noted.values()] == ["CANCELLED", "CANCELLED"]
