"""`jobs diff`: what differs, and nothing else."""

from __future__ import annotations

from scratchflow.login.jobs.compare import compare_jobs
from scratchflow.login.jobs.submit import submit
from scratchflow.model.requests import CompareJobs, Submit
from tests.unit.login.jobs.conftest import Cluster


def test_only_what_differs_is_told(cluster: Cluster) -> None:
    tasks = ({"lr": 1, "seed": 7}, {"lr": 2, "seed": 7})
    first = submit(cluster.login, Submit(command=("true",), tasks=tasks))
    wanted = CompareJobs(first=f"{first.number}_0", second=f"{first.number}_1")
    found = compare_jobs(cluster.login, wanted)
    told = {one.what: (one.first, one.second) for one in found.differences}
    assert told["param lr"] == (1, 2)
    assert (found.first, found.second) == (f"{first.number}_0", f"{first.number}_1")
    assert not {"param seed", "snapshot", "command"} & told.keys()


def test_two_jobs_are_compared_by_snapshot_and_outcome(cluster: Cluster) -> None:
    first = submit(cluster.login, Submit(command=("true",)))
    cluster.fake.jobs[first.number or 0].state = "FAILED"
    cluster.desk.write("work/README", "changed since")
    cluster.desk.backup()
    second = submit(cluster.login, Submit(command=("true",)))
    found = compare_jobs(cluster.login, CompareJobs(first=first.job, second=second.job))
    told = {one.what: (one.first, one.second) for one in found.differences}
    assert told["snapshot"] == (first.snapshot, second.snapshot)
    assert told["state"][0] == "FAILED"
    assert (found.first, found.second) == (str(first.number), str(second.number)), "not the ids"


def test_jobs_with_several_tasks_are_compared_as_a_whole(cluster: Cluster) -> None:
    """Not by the first task of each."""
    tasks = ({"lr": 1, "seed": 7}, {"lr": 2, "seed": 7}, {"lr": 2, "seed": 7})
    first = submit(cluster.login, Submit(command=("true",), tasks=tasks))
    second = submit(cluster.login, Submit(command=("true",), tasks=tasks[:1]))
    found = compare_jobs(cluster.login, CompareJobs(first=first.job, second=second.job))
    told = {one.what: (one.first, one.second) for one in found.differences}
    assert told["tasks"] == (3, 1)
    assert told["param lr"] == ("1, 2", 1)
    assert "param seed" not in told
    assert told["state"][0].split()[0].isdigit()
    assert not told["state"][1].split()[0].isdigit()
