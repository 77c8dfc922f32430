"""A slurmctld that loses its last seconds: it forgets its youngest jobs, and gives their numbers out again."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import KNOWN_STORES, Minicluster, retry_until

WORK = "/scratch/alice/work"
STATE, SAVED = "/var/spool/slurmctld", "/var/spool/slurmctld.saved"


@pytest.fixture(autouse=True)
def nothing_stored(minicluster: Minicluster) -> Iterator[None]:
    minicluster.exec("login", "rm", "-rf", "/fsx/alice/store", KNOWN_STORES, SAVED)
    for node in minicluster.node_states():
        minicluster.exec(node, "sh", "-c", f"rm -rf {WORK}* /scratch/alice/.scratchflow")
    yield
    heal(minicluster)


def heal(minicluster: Minicluster) -> None:
    minicluster.run("up")
    fine = {"idle", "mixed", "allocated"}
    retry_until(lambda: set(minicluster.node_states().values()) <= fine, "the nodes are back")


def remember(minicluster: Minicluster) -> None:
    """Keeps what slurmctld has saved, once that has the jobs that run now, and only those."""
    running = ["squeue", "--noheader", "--states=RUNNING", "--format=%j"]
    names = minicluster.exec("login", *running).stdout.split()
    looks = [f"grep -qa {name} {SAVED}/job_state" for name in names]
    script = " && ".join([f"rm -rf {SAVED}", f"cp -a {STATE} {SAVED}", *looks])
    retry_until(
        lambda: minicluster.exec("login", "sh", "-c", script, check=False).returncode == 0,
        "slurmctld has saved its jobs",
    )


def forget(minicluster: Minicluster) -> None:
    """slurmctld falls, and comes back with what it had saved then."""
    minicluster.run("stop", "login", "slurmctld")
    minicluster.exec("login", "sh", "-c", f"rm -rf {STATE}; cp -a {SAVED} {STATE}")
    heal(minicluster)


def written(laptop: Laptop, text: str) -> None:
    assert laptop.ssh(f"echo {text} > {WORK}/file").returncode == 0


def read(laptop: Laptop) -> str:
    return laptop.ssh(f"cat {WORK}/file").stdout.strip()


@pytest.mark.slow
def test_a_second_job_of_the_same_number_does_not_take_an_old_copy_for_its_own_work(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    minicluster.login(
        "srun", "true"
    )  # numbers that `setup` has used up are saved with the next job alone
    remember(minicluster)
    first = laptop.data("up", "--node", "1")
    written(laptop, "old")
    laptop.data("hop", "--node", "2")
    written(laptop, "new")
    laptop.data("clear")
    forget(minicluster)
    second = laptop.data("up", "--node", "1")
    assert (second["job_id"], second["node"]) == (first["job_id"], "node-1")
    assert read(laptop) == "new"


@pytest.mark.slow
def test_a_hop_whose_next_job_is_forgotten_names_the_one_that_holds_the_workspace(
    laptop: Laptop, minicluster: Minicluster
) -> None:
    held = laptop.data("up", "--node", "1")
    written(laptop, "mine")
    remember(minicluster)
    with laptop.begin("hop", "--node", "2", "--json") as process:
        assert process.stdout is not None
        assert any('"state":"running"' in line for line in process.stdout)
        forget(minicluster)
        ended = json.loads(process.communicate()[0].splitlines()[-1])
    assert ended["exit_code"] == 23, ended
    assert f"job {held['job_id']} still holds `node-1`" in ended["message"]
    assert minicluster.jobs() == [str(held["job_id"])]
    laptop.data("hop", "--node", "2")
    assert (laptop.ssh("hostname").stdout, read(laptop)) == ("node-2\n", "mine")
