"""Fixtures that start clusters for tests and leave the machine as they found it."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.laptop import SETUP, Laptop
from tests.cluster.login import LoginHost, install
from tests.cluster.minicluster import KNOWN_STORES, Minicluster, run


@pytest.fixture(scope="session", autouse=True)
def root() -> None:
    """What every test here needs; without it they fail rather than seem to have passed."""
    if os.geteuid() != 0:
        pytest.fail("tests/cluster needs root: it starts a Slurm cluster in namespaces. Use sudo.")


@pytest.fixture(scope="session")
def minicluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minicluster]:
    """A running cluster of three nodes, shared by all tests; who breaks it heals it with `up`.

    `SCRATCHFLOW_TEST_FSX=gluster` puts its `/fsx` onto GlusterFS.
    """
    fsx = os.environ.get("SCRATCHFLOW_TEST_FSX", "directory")
    cluster = Minicluster(tmp_path_factory.mktemp("minicluster") / "state", {"MC_FSX": fsx})
    try:
        cluster.run("up")
        yield cluster
    finally:
        cluster.run("down", "--purge")


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minicluster]:
    """Another cluster beside the shared one, of one node."""
    cluster = Minicluster(tmp_path_factory.mktemp("second") / "state", {"MC_NODES": "1"})
    try:
        cluster.run("up")
        yield cluster
    finally:
        cluster.run("down", "--purge")


@pytest.fixture(scope="module")
def job_steps(minicluster: Minicluster) -> None:
    """For tests of steps themselves, which a Slurm before 20.11 cannot start beside each other."""
    if not minicluster.has_steps:
        pytest.skip("this `srun` knows no `--overlap`: what belongs to the node goes over ssh")


@pytest.fixture
def restored_minicluster(minicluster: Minicluster) -> Iterator[Minicluster]:
    """The shared cluster, healed and without jobs again after the test."""
    yield minicluster
    minicluster.run("up")
    minicluster.exec("login", "scancel", "--user=alice")


@pytest.fixture(scope="session")
def installed(minicluster: Minicluster) -> Minicluster:
    """The shared cluster, with scratchflow on it."""
    install(minicluster)
    return minicluster


@pytest.fixture
def login(installed: Minicluster) -> Iterator[LoginHost]:
    """Its login host as alice uses it, without jobs, sessions and drained nodes before and after."""
    host = LoginHost(installed)
    yield host
    for socket in ("scratchflow", "default"):
        host.tmux("kill-server", socket=socket)
    installed.free_nodes("alice")


@pytest.fixture
def private_laptop() -> Iterator[tuple[str, ...]]:
    """A laptop of the test's own, as the command that leads onto it.

    It has its own network, mounts and processes, so nobody else's change is mistaken for ours.
    """
    reaping_wait = "ip link set lo up; echo ready; while :; do sleep infinity & wait $!; done"
    unshare = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    with subprocess.Popen(
        [*unshare, "--", "bash", "-c", reaping_wait], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        pid = run(["pgrep", "--parent", str(process.pid)]).stdout.strip()
        yield ("nsenter", "--target", pid, "--mount", "--net", "--pid", "--")
        process.kill()


@pytest.fixture
def small_minicluster(private_laptop: tuple[str, ...], tmp_path: Path) -> Iterator[Minicluster]:
    """A cluster of one node on a laptop of its own, not started yet."""
    cluster = Minicluster(tmp_path / "state", {"MC_NODES": "1"}, private_laptop)
    yield cluster
    cluster.run("down", "--purge")


@pytest.fixture(scope="module", autouse=True)
def clean_slate(minicluster: Minicluster) -> None:
    """Nothing that another module left on the store or on a scratch, and no session; a node that is down has its turn later."""
    minicluster.exec(
        "-u", "alice", "login", "tmux", "-L", "scratchflow", "kill-server", check=False
    )
    minicluster.exec(
        "login",
        "sh",
        "-c",
        f"rm -rf /fsx/alice/* {KNOWN_STORES}",
        check=False,
    )
    for node in minicluster.node_states():
        minicluster.exec(node, "sh", "-c", "rm -rf /scratch/alice", check=False)


@pytest.fixture(scope="module")
def ready(minicluster: Minicluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laptop]:
    """A laptop on which the cluster is set up."""
    laptop = Laptop(tmp_path_factory.mktemp("laptop"), minicluster)
    laptop.data(*SETUP, "--yes")
    laptop.data("config", "set", "slurm.time", "10:00")
    yield laptop
    laptop.data("setup", "--remove", "--yes")


@pytest.fixture
def laptop(ready: Laptop, minicluster: Minicluster) -> Iterator[Laptop]:
    """The same, without a node before and after."""
    yield ready
    minicluster.heal()
    ready.run("clear", "--no-backup")
    minicluster.free_nodes("alice", "bob")
