"""A site that gives each job a directory that goes with it, and binds each task to its CPUs."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.cluster.login import APP, install
from tests.cluster.minicluster import Minicluster, retry_until

# A step that is started from inside another one: what it finds in its environment, and its CPUs.
_STEP_FROM_INSIDE = """
import os, sys
from scratchflow.model.allocation import RunningAllocation
from scratchflow.reach.node import JobStep
held = RunningAllocation(job_id=int(sys.argv[1]), name="x", state="running", nodes=("node-1",))
for command in (["nproc"], ["env"]):
    print(JobStep(held, os.environ).run(command, timeout_s=60).text)
"""
_OUTER = {
    "PMI_RANK": "3",
    "SRUN_CPUS_PER_TASK": "1",
    "SBATCH_MEM_BIND": "local",
    "SALLOC_PARTITION": "gpu",
    "SLURM_EXPORT_ENV": "ALL",
}


@pytest.fixture(scope="module")
def minicluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minicluster]:
    """A cluster of its own."""
    place = tmp_path_factory.mktemp("site")
    (place / "extra").write_text("TaskPlugin=task/affinity\n")
    settings = {"MC_JOB_TMPDIR": "1", "MC_NODES": "2", "MC_SLURM_EXTRA": str(place / "extra")}
    cluster = Minicluster(place / "state", settings)
    try:
        cluster.run("up")
        yield cluster
    finally:
        cluster.run("down", "--purge")


@pytest.fixture
def job(minicluster: Minicluster) -> Iterator[str]:
    """A job on node-1 with two CPUs, made by hand."""
    yield minicluster.allocate("node-1", "--cpus-per-task=2")
    minicluster.exec("login", "scancel", "--user=alice")
    retry_until(lambda: minicluster.node_states()["node-1"] == "idle", "the node is free again")


def test_steps_know_the_jobs_directory_ssh_does_not_and_it_goes_with_the_job(
    minicluster: Minicluster, job: str
) -> None:
    tell = ["sh", "-c", 'stat --format="%n %U %a" "$SLURM_TMPDIR"']
    told = minicluster.login("srun", f"--jobid={job}", "--overlap", *tell).stdout
    assert told == f"/localscratch/alice.{job}.0 alice 700\n"
    assert minicluster.ssh("node-1", "printenv", "SLURM_TMPDIR", check=False).returncode == 1
    minicluster.login("scancel", job)
    gone = ["test", "!", "-e", f"/localscratch/alice.{job}.0"]
    retry_until(
        lambda: minicluster.exec("node-1", *gone, check=False).returncode == 0, "it is removed"
    )


def test_a_step_from_inside_a_narrow_one_has_the_jobs_cpus_and_nothing_of_the_outer_one(
    minicluster: Minicluster, job: str
) -> None:
    assert len(os.sched_getaffinity(0)) > 1, "with one CPU there is nothing to see"
    install(minicluster)
    outer = [f"{name}={value}" for name, value in {**_OUTER, "PYTHONPATH": APP}.items()]
    # The variables are set inside: `srun` would take them for its own.
    narrow = ["srun", f"--jobid={job}", "--overlap", "--ntasks=1", "--cpu-bind=map_cpu:0", "env"]
    assert minicluster.login(*narrow, "nproc").stdout == "1\n"
    inside = [*narrow, *outer, "python3", "-c", _STEP_FROM_INSIDE, job]
    cpus, *environment = minicluster.login(*inside).stdout.split()
    assert cpus == "2"
    names = {line.partition("=")[0] for line in environment}
    assert "SLURM_STEP_ID" in names
    assert names.isdisjoint(_OUTER)
