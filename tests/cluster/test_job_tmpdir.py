"""A site that gives each job a directory that goes with it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.minicluster import Minicluster, retry_until


@pytest.fixture(scope="module")
def minicluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minicluster]:
    """A cluster of its own."""
    place = tmp_path_factory.mktemp("site")
    settings = {"MC_JOB_TMPDIR": "1", "MC_NODES": "2"}
    cluster = Minicluster(place / "state", settings)
    try:
        cluster.run("up")
        yield cluster
    finally:
        cluster.run("down", "--purge")


@pytest.fixture
def job(minicluster: Minicluster) -> Iterator[str]:
    """A job on node-1, made by hand."""
    yield minicluster.allocate("node-1")
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
